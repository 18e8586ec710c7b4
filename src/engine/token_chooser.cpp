#include "engine/token_chooser.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace ruv {
namespace {

bool is_possible(float logit) { return logit > -std::numeric_limits<float>::infinity(); }

}  // namespace

TokenChooser::TokenChooser(const GenerateParams& params, uint64_t seed, int64_t n_vocab,
                           const Tokenizer* tokenizer)
    : n_logprobs_(params.n_logprobs),
      n_vocab_(n_vocab),
      bans_(params, tokenizer, n_vocab),
      sampler_(params, tokenizer),
      rng_(seed),
      state_(sampler_.start()) {}

// The first row's mask is allocated here, where running out of memory refuses the request.
void TokenChooser::constrain(std::unique_ptr<TokenConstraint> constraint) {
  constraint_ = std::move(constraint);
  masks_.emplace_back(n_vocab_);
}

// A copy of the constraint advances along the draft.
void TokenChooser::cut(std::vector<Token>& draft) const {
  if (!is_constrained() || draft.empty()) return;
  const std::unique_ptr<TokenConstraint> ahead = constraint_->clone();
  const auto is_forbidden = [&](Token id) {
    if (ahead->done()) return false;
    if (ahead->complete()) return true;
    if (!ahead->allows(id)) return true;
    ahead->accept(id);
    return false;
  };
  draft.erase(std::ranges::find_if(draft, is_forbidden), draft.end());
}

void TokenChooser::begin_step(std::span<const Token> draft) {
  next_ = 0;
  n_masks_ = 0;
  first_failed_ = SIZE_MAX;
  draft_.assign(draft.begin(), draft.end());
  rows_.resize(1 + draft.size());
  Rng ahead = rng_;
  for (Row& row : rows_) row = {.numbers = sampler_.take_numbers(ahead), .choice = {}};
}

void TokenChooser::build_masks() {
  const std::unique_ptr<TokenConstraint> ahead = draft_.empty() ? nullptr : constraint_->clone();
  for (size_t row = 0;; ++row) {
    if (row == masks_.size()) masks_.emplace_back(n_vocab_);
    masks_[row].clear();
    failure_ = (row == 0 ? *constraint_ : *ahead).allow(masks_[row]);
    n_masks_ = row + 1;
    if (!failure_.ok()) {
      first_failed_ = row;
      return;
    }
    if (row == draft_.size()) return;
    ahead->accept(draft_[row]);
    if (ahead->done() || ahead->complete()) return;
  }
}

bool TokenChooser::takes_likeliest(int64_t row) const {
  return sampler_.takes_likeliest() && !bans_.are_needed() &&
         static_cast<size_t>(row) >= n_masks_ && n_logprobs_ < 0;
}

void TokenChooser::choose(int64_t row, std::span<float> logits, const SampleHistory& history,
                          SampleScratch& scratch) {
  if (static_cast<size_t>(row) >= first_failed_) return;
  std::vector<float> own;  // log-probabilities are of the logits before the sampler changes them
  if (n_logprobs_ >= 0) own.assign(logits.begin(), logits.end());
  if (static_cast<size_t>(row) < n_masks_) masks_[static_cast<size_t>(row)].apply(logits);
  if (bans_.are_needed()) {
    bans_.apply(logits, history);
    row_of(row).is_barred = std::ranges::none_of(logits, is_possible);
    if (row_of(row).is_barred) return;
  }
  // Other rows are chosen at the same time where none of them learns.
  if (chooses_in_order()) row_of(row).left = row == 0 ? state_ : row_of(row - 1).left;
  const Token id = sampler_.sample(logits, history, row_of(row).numbers, row_of(row).left, scratch);
  std::optional<Event::Logprobs> logprobs;
  if (n_logprobs_ >= 0) logprobs = log_probabilities(own, id, n_logprobs_);
  row_of(row).choice = {id, std::move(logprobs)};
}

Status TokenChooser::failure() const {
  if (next_ >= first_failed_) return failure_;
  if (next_ >= rows_.size() || !rows_[next_].is_barred) return {};
  return Status(Code::invalid,
                "no token may come next: allowed_token_ids, bad_words and min_tokens leave none of "
                "those that could; ask for less");
}

// Constraint, random numbers and what was learned advance with the tokens that are taken.
TokenChooser::Choice TokenChooser::take() {
  Choice choice = *std::exchange(rows_[next_].choice, std::nullopt);
  if (chooses_in_order()) state_ = rows_[next_].left;
  ++next_;
  (void)sampler_.take_numbers(rng_);
  if (is_constrained()) constraint_->accept(choice.id);
  return choice;
}

}  // namespace ruv
