#include "grammar/mask/text_slice.h"

#include <set>

namespace ruv {
namespace {

// Pairs of states that a search may meet.
constexpr size_t kMaxPairs = 400;

}  // namespace

// Which tokens are runs; an unfinished character at their end counts.
std::vector<bool> TextSlice::find(Languages& languages, Language character,
                                  const TokenPrefixes& prefixes, int64_t n_vocab) {
  std::vector<bool> in(static_cast<size_t>(n_vocab), false);
  for (Token id = 0; id < n_vocab; ++id) {
    Language at = Language::empty;
    uint32_t length = 0;
    for (const char byte : prefixes.bytes(id)) {
      if (at == Language::empty) {
        at = character;
        ++length;
      }
      at = languages.after(at, static_cast<uint8_t>(byte));
      if (at == Language::nothing) break;
    }
    in[static_cast<size_t>(id)] = length > 0 && length <= kMaxLength && at != Language::nothing;
  }
  return in;
}

TextSlice::TextSlice(Languages& languages, Language character, const TokenPrefixes& prefixes,
                     int64_t n_vocab)
    : TextSlice(character, find(languages, character, prefixes, n_vocab), prefixes, n_vocab) {}

TextSlice::TextSlice(Language character, const std::vector<bool>& in, const TokenPrefixes& prefixes,
                     int64_t n_vocab)
    : character_(character),
      others_(prefixes, n_vocab, [&](Token id) { return !in[static_cast<size_t>(id)]; }) {
  auto mask = std::make_shared<TokenMask>(n_vocab);
  for (Token id = 0; id < n_vocab; ++id) {
    if (in[static_cast<size_t>(id)]) mask->add(id);
  }
  auto made = std::make_shared<LanguageTokens>();
  made->many = std::move(mask);
  tokens_ = std::move(made);
}

// A search in breadth over pairs of a state of the language and one of the character, one byte
// after the other.
bool TextSlice::is_inside(Languages& l, Language language) const {
  struct Pair {
    Language state;
    Language character;  // `empty` between characters
    uint32_t length;
  };
  std::vector<Pair> open = {{language, Language::empty, 0}};
  std::set<std::pair<Language, Language>> seen;
  for (size_t i = 0; i < open.size(); ++i) {
    const Pair at = open[i];
    const bool starts = at.character == Language::empty;
    if (starts && at.length == kMaxLength) continue;
    const std::span<const Languages::Arc> span = l.arcs(starts ? character_ : at.character);
    const std::vector<Languages::Arc> wanted(span.begin(), span.end());
    const std::span<const Languages::Arc> given_span = l.arcs(at.state);
    const std::vector<Languages::Arc> given(given_span.begin(), given_span.end());
    for (const Languages::Arc& want : wanted) {
      ByteSet left = want.bytes;
      for (const Languages::Arc& give : given) {
        if ((left & give.bytes).empty()) continue;
        left &= ~give.bytes;
        if (l.is_nothing(give.next) || l.has_empty(give.next)) return false;
        if (!seen.emplace(give.next, want.next).second) continue;
        open.push_back({give.next, want.next, at.length + (starts ? 1 : 0)});
      }
      if (!left.empty() || open.size() > kMaxPairs) return false;
    }
  }
  return true;
}

}  // namespace ruv
