// TokenBans: tokens that a request's own limits keep from coming next: all but allowed_token_ids,
// the last token of a bad word where the others of it came before, and the ends of an answer before
// min_tokens. What is banned follows from the answer so far, so there is no state to keep.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "engine/sample/sampler.h"
#include "text/token_mask.h"

namespace ruv {

class TokenBans {
 public:
  // `tokenizer`: what bad words are encoded with; null: the model has no text, and no bad words.
  // Requires: params passed check_params for n_vocab.
  TokenBans(const GenerateParams& params, const Tokenizer* tokenizer, int64_t n_vocab);

  bool are_needed() const { return allowed_ || min_tokens_ > 0 || !bad_words_.empty(); }
  // Makes the logits of banned tokens -infinity. Linear in what there is to ban.
  void apply(std::span<float> logits, const SampleHistory& history) const;

 private:
  std::optional<TokenMask> allowed_;
  int64_t min_tokens_;
  std::vector<Token> ends_;                    // where min_tokens asks for them
  std::vector<std::vector<Token>> bad_words_;  // none empty
};

}  // namespace ruv
