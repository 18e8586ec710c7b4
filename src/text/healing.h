// Token healing: a text that ends inside a word was cut into tokens as if it ended there. Its last
// tokens are taken back, and their bytes become a prefix that the next tokens must reproduce.
#pragma once

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "text/token_prefixes.h"

namespace ruv {

struct HealedPrompt {
  size_t n_kept = 0;   // tokens of the prompt that stay
  std::string prefix;  // bytes of the others; empty: nothing to heal
};

// Takes back the tokens that another continuation of the text could replace, and no more: a token
// stays when it stands in the tokens of the text however it goes on. The tokenizer itself is
// asked: with every token that spans the prompt's end, and with the characters that move the
// borders of words. Where the prompt is not cut as the tokenizer cuts it, or there are too many
// ways to go on, one token too many may be taken back, which costs a step and changes no text.
// Never takes back control or added tokens or what stands before them, the first n_fixed tokens,
// the last token left, or more than 8 tokens. WordPiece is not healed: its tokens are not the
// text's bytes. Requires: ids of the tokenizer's vocabulary.
HealedPrompt heal_prompt(const Tokenizer& tokenizer, const TokenPrefixes& prefixes,
                         std::span<const Token> prompt, size_t n_fixed);

// Bytes that the next tokens must reproduce; the last of these may go on after them.
class ForcedPrefix {
 public:
  ForcedPrefix() = default;
  // `prefixes` must outlive it.
  ForcedPrefix(const TokenPrefixes& prefixes, std::string bytes)
      : prefixes_(&prefixes), bytes_(std::move(bytes)) {}

  bool done() const { return at_ == bytes_.size(); }
  // Leaves the logits of tokens that begin with the bytes left or that these begin with, and makes
  // all others -infinity. At least one is left when the bytes are those of tokens.
  // Requires: !done(); a logit for each token of the vocabulary.
  void mask(std::span<float> logits);
  // `id` was chosen; returns how many of its bytes the prefix had. Requires: a token mask left.
  size_t accept(Token id);

 private:
  const TokenPrefixes* prefixes_ = nullptr;
  std::string bytes_;
  size_t at_ = 0;
  std::vector<std::pair<Token, float>> allowed_;
};

}  // namespace ruv
