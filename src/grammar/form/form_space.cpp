#include "grammar/form/form_space.h"

#include <array>

namespace ruv {
namespace {

// Sets of characters of which patterns allow all runs or none: what JSON need not escape, ASCII,
// the characters of names with and without signs, small letters.
std::array<CodePointSet, 5> sliced_sets() {
  const CodePointSet quote = CodePointSet::of('"', '"') | CodePointSet::of('\\', '\\');
  const CodePointSet digits = CodePointSet::of('0', '9');
  const CodePointSet small = CodePointSet::of('a', 'z');
  const CodePointSet names = digits | small | CodePointSet::of('A', 'Z');
  return {CodePointSet::of(0x20, 0x10FFFF) & ~quote, CodePointSet::of(0x20, 0x7E) & ~quote,
          names | CodePointSet::of('_', '_') | CodePointSet::of('-', '-'), names, small};
}

// Languages of forms over a vocabulary that mostly come up: more of them where there are more
// tokens to tell apart.
size_t room_for(int64_t n_vocab) {
  return std::min(FormSpace::kMaxLanguages / 2, 4 * static_cast<size_t>(n_vocab));
}

}  // namespace

FormSpace::FormSpace(std::shared_ptr<const TokenPrefixes> tokens, int64_t n_vocab,
                     std::vector<Token> ends)
    : tokens_(std::move(tokens)),
      trie_(*tokens_, n_vocab),
      ends_(std::move(ends)),
      languages_(kMaxLanguages, room_for(n_vocab)),
      masks_(languages_, trie_, *tokens_, kMaxMaskBytes) {
  for (const CodePointSet& set : sliced_sets()) {
    masks_.add_slice(Utf8Alphabet().character(languages_, set));
  }
  const JsonText& text = style({}).text;
  masks_.tokens(languages_.concat(text.any_string(), languages_.text("\"")));
}

FormSpace::Style& FormSpace::style(JsonStyle style) {
  std::unique_ptr<Style>& at = styles_[{style.escapes, style.spacing}];
  if (!at) at = std::make_unique<Style>(languages_, style);
  return *at;
}

}  // namespace ruv
