#include "grammar/form/form_space.h"

namespace ruv {

FormSpace::FormSpace(std::shared_ptr<const TokenPrefixes> tokens, int64_t n_vocab)
    : tokens_(std::move(tokens)),
      trie_(*tokens_, n_vocab),
      languages_(kMaxLanguages),
      masks_(languages_, trie_, kMaxMaskBytes) {}

FormSpace::Style& FormSpace::style(JsonStyle style) {
  std::unique_ptr<Style>& at = styles_[{style.escapes, style.spacing}];
  if (!at) at = std::make_unique<Style>(languages_, style);
  return *at;
}

}  // namespace ruv
