// TokenChooser: which token comes next in one sequence. Logits pass the sequence's constraint, then
// its sampler; the choice waits here until the engine reports it. Different sequences may choose on
// different threads at once.
#pragma once

#include <memory>
#include <optional>

#include "engine/sample/sampler.h"
#include "text/token_constraint.h"

namespace ruv {

class TokenChooser {
 public:
  // Requires: params passed check_params for n_vocab.
  TokenChooser(const GenerateParams& params, uint64_t seed, int64_t n_vocab);

  // Tokens are limited by `constraint` until it is done.
  void constrain(std::unique_ptr<TokenConstraint> constraint);
  // Whether the choice is the likeliest token of the logits as they are, so that the caller may
  // find it in parts on several threads.
  bool takes_likeliest() const;
  // Chooses among the logits (n_vocab) after the last token, which it changes. `history` is prompt
  // and answer so far, of which the last n_generated are the answer.
  void choose(std::span<float> logits, std::span<const Token> history, int64_t n_generated);
  void choose(Token likeliest) { choice_ = {likeliest, {}}; }
  // Memory ran out while it chose.
  void fail() { failed_ = true; }
  bool failed() const { return failed_; }

  struct Choice {
    Token id;
    std::optional<Event::Logprobs> logprobs;
  };
  bool has_choice() const { return choice_.has_value(); }
  // The choice is now the sequence's next token. Requires: has_choice().
  Choice take();
  // Cuts a draft before the first token that the constraint would not allow there, so that no row
  // of a step is spent on it.
  void cut(std::vector<Token>& draft) const;

 private:
  bool constrained() const { return constraint_ != nullptr && !constraint_->done(); }

  int32_t n_logprobs_;
  int64_t n_vocab_;
  Sampler sampler_;
  std::unique_ptr<TokenConstraint> constraint_;
  std::optional<TokenMask> mask_;  // where there is a constraint
  std::optional<Choice> choice_;
  bool failed_ = false;
};

}  // namespace ruv
