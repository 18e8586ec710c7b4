// DryPenalty: DRY, "don't repeat yourself" (p-e-w, 2024): penalises tokens that would continue a
// repetition of what came before, the more the longer it is.
//
// For each earlier place, how many tokens before it equal those at the end is one run of the
// Z-algorithm over the history from its end: linear in the tokens that are looked at. Texts that
// break repetitions are looked for from the end too, up to the first.
#pragma once

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "ruv/params.h"
#include "text/tokenizer.h"

namespace ruv {

// Working memory of one thread.
struct DryScratch {
  std::vector<Token> recent;     // the newest first
  std::vector<int64_t> repeats;  // of each, how many tokens from it on equal those from the newest
  std::vector<std::pair<Token, int64_t>> next;  // what would continue a repetition of which length
  std::vector<int64_t> longest;                 // of each token of the vocabulary; -1 between uses
  std::string text;
};

// Texts over which no repetition reaches, found in tokens.
class SequenceBreakers {
 public:
  // `tokenizer` must outlive it; null: there are no texts, and none is found.
  SequenceBreakers(const std::vector<std::string>& texts, const Tokenizer* tokenizer);

  // Whether a breaker begins in recent[i]: how many newer tokens belong to the longest one that
  // does; -1: none does. One may begin at the end of a token and continue as the tokens that the
  // rest of it encodes to.
  int64_t n_after(std::span<const Token> recent, size_t i, std::string& text) const;
  // Whether the token has a whole one in it. Ids beyond the tokenizer's have no text.
  bool holds_one(Token id, std::string& text) const;

 private:
  struct Breaker {
    std::string text;
    std::vector<std::vector<Token>> rests;  // [i]: of the text from byte i + 1 on
  };

  const Tokenizer* tokenizer_;
  std::vector<Breaker> breakers_;
};

class DryPenalty {
 public:
  // `tokenizer`: as SequenceBreakers has it. Requires: params passed check_params.
  DryPenalty(const GenerateParams& params, const Tokenizer* tokenizer);

  bool is_needed() const { return multiplier_ > 0 && last_n_ != 0; }
  // Subtracts from the logits of tokens that would continue a repetition of `tokens`, then `draft`,
  // which may have ids without a logit.
  void apply(std::span<float> logits, std::span<const Token> tokens, std::span<const Token> draft,
             DryScratch& scratch) const;

 private:
  void take_recent(std::span<const Token> tokens, std::span<const Token> draft,
                   std::vector<Token>& recent) const;
  int64_t longest_repeat(DryScratch& scratch) const;
  void collect(int64_t most, size_t n_vocab, DryScratch& scratch) const;

  double multiplier_, base_;
  int64_t allowed_length_, last_n_;
  SequenceBreakers breakers_;
};

}  // namespace ruv
