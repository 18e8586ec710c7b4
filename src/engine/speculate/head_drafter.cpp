#include "engine/speculate/head_drafter.h"

#include "engine/sample/sampler.h"

namespace ruv {

HeadDrafter::HeadDrafter(const Model& model, Executor& executor, const Clock& clock)
    : model_(&model),
      executor_(&executor),
      clock_(&clock),
      exists_(head_drafts(model, executor.pages().layout())),
      costs_(model.h.share_of_experts()) {}

void HeadDrafter::clear() {
  forget();
  batch_.clear();
  shape_ = {};
  from_.clear();
  places_.clear();
}

void HeadDrafter::add(int64_t first, std::span<const PageId> pages, int64_t row,
                      std::span<const Token> next, HeadPlace* place) {
  const int64_t n = std::ssize(next);
  if (!has_layer() && n > 1) return add(first + n - 1, pages, row + n - 1, next.last(1), place);
  if (!has_layer() && place == nullptr) return;
  append(first, pages, row, next);
  if (place == nullptr) return;
  batch_.want_logits();
  ++shape_.n_outputs;
  const int64_t last = has_layer() ? batch_.n_rows() - 1 : row;
  *place = {.reading = -1, .n_tokens = first + n + 1, .row = static_cast<int32_t>(last)};
  places_.push_back(place);
}

void HeadDrafter::append(int64_t first, std::span<const PageId> pages, int64_t row,
                         std::span<const Token> next) {
  batch_.begin_sequence(first, pages);
  batch_.add(next);
  const int64_t n = std::ssize(next);
  for (int64_t i = 0; i < n; ++i) from_.push_back(static_cast<int32_t>(row + i));
  shape_ = shape_ + StepShape::of(first, n, 0);
}

double HeadDrafter::read() {
  if (batch_.n_rows() == 0) return 0;
  const double ms = run(false, 0);
  for (size_t i = 0; i < places_.size(); ++i) {
    places_[i]->next = likeliest(static_cast<int64_t>(i));
    places_[i]->reading = reading_;
  }
  return ms;
}

double HeadDrafter::run(bool goes_on, int64_t ahead) {
  const int64_t begin_ns = clock_->now_ns();
  logits_ = executor_->run_head({batch_.batch(), from_, goes_on, ahead});
  const double ms = static_cast<double>(clock_->now_ns() - begin_ns) * 1e-6;
  if (ms > 0) costs_.add(shape_, ms);
  return ms;
}

// The end of an answer is not drafted: its row would be for nothing.
Token HeadDrafter::likeliest(int64_t output) const {
  const std::vector<Token>& tokens = model_->head->tokens;
  const int64_t n_usable = model_->n_usable_tokens();
  const auto n = tokens.empty() ? static_cast<size_t>(n_usable) : tokens.size();
  Token best = argmax({logits_.row(output), n});
  if (!tokens.empty()) best = tokens[static_cast<size_t>(best)];
  if (best >= n_usable) return -1;
  return model_->tokenizer != nullptr && model_->tokenizer->ends_answer(best) ? -1 : best;
}

// In each step a head with a layer reads, at the place after the one before, the token that it
// drafted last; of others the next one reads the same rows.
void HeadDrafter::propose(std::span<const Turn> turns) {
  going_.clear();
  for (const Turn& turn : turns) {
    turn.out->assign(1, turn.place->next);
    if (turn.max_tokens > 1) going_.push_back({&turn, turn.place->row});
  }
  for (int64_t ahead = 1; !going_.empty(); ++ahead) draft_next(ahead);
  forget();
}

// The token after the `ahead` ones that all turns have which still want more.
void HeadDrafter::draft_next(int64_t ahead) {
  clear();
  for (Going& going : going_) {
    const Turn& turn = *going.turn;
    const int64_t place = turn.place->n_tokens - 2 + (has_layer() ? ahead : 0);
    append(place, turn.pages, going.row, std::span(*turn.out).last(1));
    batch_.want_logits();
    ++shape_.n_outputs;
    if (has_layer()) going.row = static_cast<int32_t>(batch_.n_rows() - 1);
  }
  run(true, ahead);
  still_going_.clear();
  for (size_t i = 0; i < going_.size(); ++i) {
    const Turn& turn = *going_[i].turn;
    const Token next = likeliest(static_cast<int64_t>(i));
    if (next < 0) continue;
    turn.out->push_back(next);
    if (std::ssize(*turn.out) < turn.max_tokens) still_going_.push_back(going_[i]);
  }
  std::swap(going_, still_going_);
}

}  // namespace ruv
