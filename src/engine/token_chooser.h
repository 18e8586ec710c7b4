// TokenChooser: which tokens come next in one sequence. Each row of logits of a step passes the
// sequence's constraint and its request's bans, then its sampler; the choices wait here until the
// engine takes them.
//
// A step has a row after the last known token and one after each token of a draft. A row is chosen
// as if the draft before it were right: it has the mask and the random number that it would have
// then. So all rows of all sequences are chosen at once, on any thread, and those after a wrong
// draft token are never taken. Only what learns from each choice (Mirostat, adaptive-p) needs the
// rows of one sequence one after the other; a row then starts from what the one before it left, and
// what it learned counts when it is taken.
#pragma once

#include <memory>
#include <optional>

#include "base/rng.h"
#include "engine/sample/token_bans.h"
#include "text/token_constraint.h"

namespace ruv {

class TokenChooser {
 public:
  // `tokenizer`: as TokenBans has it. Requires: params passed check_params for n_vocab.
  TokenChooser(const GenerateParams& params, uint64_t seed, int64_t n_vocab,
               const Tokenizer* tokenizer = nullptr);

  // Tokens are limited by `constraint` until it is done.
  void constrain(std::unique_ptr<TokenConstraint> constraint);
  // Cuts a draft before the first token that the constraint would not allow there, so that no row
  // of a step is spent on it.
  void cut(std::vector<Token>& draft) const;
  // Bytes that probably come next, as far as the constraint knows.
  std::string foreseen(size_t max_bytes) const {
    return is_constrained() ? constraint_->foreseen(max_bytes) : std::string();
  }

  // The next step gives the logits after the last known token and after each token of `draft`,
  // which was cut. Forgets choices that were not taken. Throws std::bad_alloc.
  void begin_step(std::span<const Token> draft);
  // Whether rows of the step need masks.
  bool is_constrained() const { return constraint_ != nullptr && !constraint_->done(); }
  // Whether rows are chosen in their order, one after the other.
  bool chooses_in_order() const { return sampler_.is_steered(); }
  // Builds the step's masks; needs none of its logits. Throws std::bad_alloc. Requires:
  // is_constrained(), begin_step() was called.
  void build_masks();
  // How many of the step's rows have one.
  int64_t n_masks() const { return static_cast<int64_t>(n_masks_); }

  // Whether row `row` takes the likeliest token of the logits as they are, so that the caller may
  // find it in parts on several threads.
  bool takes_likeliest(int64_t row) const;
  // Chooses a row's token among its logits (n_vocab), which it changes. `history`: what comes
  // before the row. Throws std::bad_alloc. Different rows may be chosen at once, unless
  // chooses_in_order().
  void choose(int64_t row, std::span<float> logits, const SampleHistory& history,
              SampleScratch& scratch);
  void choose(int64_t row, Token likeliest) { row_of(row).choice = {likeliest, {}}; }

  struct Choice {
    Token id;
    std::optional<Event::Logprobs> logprobs;
  };
  // Whether the next row was chosen; where memory ran out or the constraint failed it was not.
  bool has_choice() const { return next_ < rows_.size() && rows_[next_].choice.has_value(); }
  // Why the next row has no token: the constraint gives none, or all that it gives are banned; ok
  // where it has one.
  Status failure() const;
  // Whether no token may come after those that were taken.
  bool is_complete() const { return constraint_ != nullptr && constraint_->complete(); }
  // Bytes after which none need come, as far as the constraint knows.
  std::optional<std::string> ending(size_t max_bytes) const {
    return constraint_ == nullptr ? std::nullopt : constraint_->ending(max_bytes);
  }
  // The choice of the next row is the sequence's next token. Requires: has_choice().
  Choice take();

 private:
  struct Row {
    SampleNumbers numbers;
    std::optional<Choice> choice;
    bool is_barred = false;  // no token may come
    SteerState left = {};    // by its choice
  };
  Row& row_of(int64_t row) { return rows_[static_cast<size_t>(row)]; }

  int32_t n_logprobs_;
  int64_t n_vocab_;
  TokenBans bans_;
  Sampler sampler_;
  Rng rng_;
  SteerState state_;
  std::unique_ptr<TokenConstraint> constraint_;
  // What belongs to the step.
  std::vector<Token> draft_;
  std::vector<Row> rows_;
  size_t next_ = 0;                 // the row that is taken next
  std::vector<TokenMask> masks_;    // of its first rows, until the constraint is done
  size_t n_masks_ = 0;              // of masks_, which keeps its memory
  size_t first_failed_ = SIZE_MAX;  // row from which on the constraint gives no tokens
  Status failure_;
};

}  // namespace ruv
