// Token healing: a text that ends inside a word was tokenized as if the word ended there, which the
// model has rarely seen. Its last tokens are taken back, and their bytes become a prefix that the
// next tokens must reproduce.
#pragma once

#include <span>
#include <string>

#include "text/token_constraint.h"
#include "text/token_prefixes.h"

namespace ruv {

struct HealedPrompt {
  size_t n_kept = 0;   // tokens of the prompt that stay
  std::string prefix;  // bytes of the others; empty: nothing to heal
};

// Takes back the tokens that another continuation of the text could replace, and no more: a token
// stays when every continuation of the text keeps it. The tokenizer itself is tried, with every
// token that spans the prompt's end and with the characters that move word boundaries. Where the
// prompt's tokens are not those of the tokenizer, or there are too many continuations to try, one
// token too many may be taken back; that costs a step and changes no text.
//
// Never takes back control or added tokens or anything before them, the first n_fixed tokens, the
// last remaining token, or more than 8 tokens. WordPiece prompts are not healed: their tokens are
// not the text's bytes. Requires: ids of the tokenizer's vocabulary.
HealedPrompt heal_prompt(const Tokenizer& tokenizer, const TokenPrefixes& prefixes,
                         std::span<const Token> prompt, size_t n_fixed);

// The bytes that the next tokens must reproduce. The last of these tokens may extend past them.
class ForcedPrefix final : public TokenConstraint {
 public:
  // `prefixes` must outlive this object.
  ForcedPrefix(const TokenPrefixes& prefixes, std::string bytes)
      : prefixes_(&prefixes), bytes_(std::move(bytes)) {}

  std::unique_ptr<TokenConstraint> clone() const override {
    return std::make_unique<ForcedPrefix>(*this);
  }
  bool done() const override { return at_ == bytes_.size(); }
  // Tokens that begin with the remaining bytes, or with which these begin.
  Status allow(TokenMask& mask) const override;
  bool allows(Token id) const override;
  void accept(Token id) override;

 private:
  const TokenPrefixes* prefixes_;
  std::string bytes_;
  size_t at_ = 0;
};

}  // namespace ruv
