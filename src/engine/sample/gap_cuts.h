// GapCuts: the `infill` step of the sampler, as llama.cpp's editors ask for it. What fills a gap in
// a text ends as soon as the model is in doubt: a wrong proposal costs its reader more than none.
//
// Of the tokens that the cuts before it left: where an end is likely, only ends stay. Otherwise
// tokens whose texts begin each other count as one, under the likelier's name; those that then have
// little probability are dropped; and where no text is left, the answer ends.
#pragma once

#include <span>
#include <vector>

#include "engine/sample/token_cuts.h"
#include "text/tokenizer.h"

namespace ruv {

class GapCuts {
 public:
  // Tokens that apply() takes: it compares the text of each with that of each other.
  static constexpr int64_t kMaxTokens = 256;

  // `tokenizer`: outlives it; null: tokens have no texts, and only stop_tokens end an answer.
  GapCuts(const GenerateParams& params, const Tokenizer* tokenizer);

  // The likeliest of the tokens that end an answer; nothing where none may come. `logits`: of the
  // whole vocabulary, before any cut.
  std::optional<WeighedToken> likeliest_end(std::span<const float> logits) const;
  // Drops tokens; at least one stays, which is `end` where no text is certain enough. Logits stay
  // as they are. Requires: 1 to kMaxTokens tokens, all logits are finite.
  void apply(std::vector<WeighedToken>& tokens, const std::optional<WeighedToken>& end) const;

 private:
  bool is_end(Token id) const;
  void join_beginnings(std::vector<WeighedToken>& tokens) const;
  // Drops texts that weigh less than that; how many texts are left.
  size_t keep_texts(std::vector<WeighedToken>& tokens, double least) const;

  const Tokenizer* tokenizer_;
  bool ends_by_model_;
  std::vector<Token> stop_tokens_;  // sorted
};

}  // namespace ruv
