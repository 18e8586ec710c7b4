// ReasoningConstraint: lets a model think before its answer has a form, and ends the thinking where
// it takes too long.
#pragma once

#include <vector>

#include "ruv/reasoning.h"
#include "text/token_constraint.h"

namespace ruv {

class ReasoningConstraint final : public TokenConstraint {
 public:
  // `ends`: the tokens that end an answer, which must not come while the model thinks. `answer`:
  // what limits the tokens after the region; null: nothing.
  ReasoningConstraint(ReasoningRegion region, std::vector<Token> ends, int64_t n_vocab,
                      std::unique_ptr<TokenConstraint> answer);

  std::unique_ptr<TokenConstraint> clone() const override;
  bool done() const override;
  bool complete() const override;
  Status allow(TokenMask& mask) const override;
  bool allows(Token id) const override;
  std::string foreseen(size_t max_bytes) const override;
  // Nothing while the model thinks.
  std::optional<std::string> ending(size_t max_bytes) const override;
  void accept(Token id) override;

 private:
  enum class Phase : uint8_t {
    start,   // the region may begin, or the answer
    inside,  // the model thinks
    gap,     // line breaks may come, or the answer
    answer,
  };

  bool is_end(Token id) const;
  bool is_gap(Token id) const;
  // Whether the next token must be the next one of the region's end.
  bool must_end() const;
  void think(Token id);

  ReasoningRegion region_;
  std::vector<Token> ends_;
  int64_t n_vocab_;
  std::unique_ptr<TokenConstraint> answer_;
  Phase phase_;
  int64_t n_inside_ = 0;  // tokens of the region
  size_t n_end_ = 0;      // last tokens that are the beginning of its end
  bool is_cut_ = false;   // the end is being written because of the limit
  int n_gap_ = 0;         // tokens between the region and the answer
};

}  // namespace ruv
