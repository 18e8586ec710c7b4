// Files hold neither BERT's steps nor whether it is cased. A reader assumes the steps, and takes a
// vocabulary with a capital letter for a cased one, so other tokenizers cannot be written.
#include "format/gguf_word_pieces.h"

#include <algorithm>

#include "format/bert_steps.h"
#include "text/space_mark.h"

namespace ruv {
namespace {

// Texts in brackets stay as they are.
bool is_marked(const TokenizerSpec& spec, size_t id) {
  const std::string& text = spec.tokens[id];
  const bool bracketed = text.starts_with('[') && text.ends_with(']') && text.size() > 2;
  return spec.kinds[id] == TokenKind::normal && !bracketed;
}

// As a reader sees it.
bool is_cased(const TokenizerSpec& spec) {
  for (size_t id = 0; id < spec.tokens.size(); ++id) {
    const auto is_upper = [](char c) { return c >= 'A' && c <= 'Z'; };
    if (is_marked(spec, id) && std::ranges::any_of(spec.tokens[id], is_upper)) return true;
  }
  return false;
}

}  // namespace

bool is_berts(const TokenizerSpec& spec) {
  const bool cased = is_cased(spec);
  const auto is_same_step = [](const NormalizerStep& a, const NormalizerStep& b) {
    return a.kind == b.kind && a.pattern == b.pattern && a.content == b.content;
  };
  const auto is_same_split = [](const SplitStep& a, const SplitStep& b) {
    return a.regex == b.regex && a.behavior == b.behavior && a.invert == b.invert;
  };
  return spec.kind == TokenizerKind::wordpiece && spec.continuing_prefix == "##" &&
         spec.max_word_chars == TokenizerSpec().max_word_chars &&
         std::ranges::equal(spec.normalizers,
                            bert_normalizers({.strip_accents = !cased, .lowercase = !cased}),
                            is_same_step) &&
         std::ranges::equal(spec.splits, bert_splits(), is_same_split);
}

std::vector<std::string> marked_words(const TokenizerSpec& spec) {
  std::vector<std::string> texts = spec.tokens;
  for (size_t id = 0; id < texts.size(); ++id) {
    if (!is_marked(spec, id)) continue;
    if (texts[id].starts_with(spec.continuing_prefix)) {
      texts[id].erase(0, spec.continuing_prefix.size());
    } else {
      texts[id].insert(0, kSpaceMark);
    }
  }
  return texts;
}

}  // namespace ruv
