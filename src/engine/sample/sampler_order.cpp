// Sampler::draw_in_order(): the sampler's steps in the order of a request. Steps that need the
// logits of the whole vocabulary (penalties, DRY, top-n-sigma, top-k) and those that need a list of
// the tokens that are left alternate as they come: between them the one is written as the other, in
// O(n_vocab).
#include <algorithm>
#include <limits>

#include "engine/sample/sampler.h"

namespace ruv {
namespace {

constexpr float kImpossible = -std::numeric_limits<float>::infinity();

bool is_of_logits(SampleStep step) {
  return step == SampleStep::penalties || step == SampleStep::dry ||
         step == SampleStep::top_n_sigma || step == SampleStep::top_k;
}

void list_possible(std::span<const float> logits, std::vector<WeighedToken>& kept) {
  kept.clear();
  for (size_t i = 0; i < logits.size(); ++i) {
    if (logits[i] > kImpossible) kept.push_back({0, logits[i], static_cast<Token>(i)});
  }
}

void write_logits(const std::vector<WeighedToken>& kept, std::span<float> logits) {
  std::ranges::fill(logits, kImpossible);
  for (const WeighedToken& token : kept) logits[static_cast<size_t>(token.id)] = token.logit;
}

}  // namespace

void Sampler::change_logits(SampleStep step, std::span<float> logits, const SampleHistory& history,
                            SampleScratch& scratch) const {
  if (step == SampleStep::penalties) penalize(logits, history, scratch);
  if (step == SampleStep::dry && dry_.is_needed()) {
    dry_.apply(logits, history.tokens, history.draft, scratch.dry);
  }
  if (step == SampleStep::top_n_sigma && params_.top_n_sigma > 0) cut_below_sigma(logits);
  if (step != SampleStep::top_k || params_.top_k == 0) return;
  keep_top_k(logits, scratch);
  std::ranges::fill(logits, kImpossible);
  for (const SampleScratch::Candidate& c : scratch.candidates) {
    logits[static_cast<size_t>(c.id)] = c.logit;
  }
}

Token Sampler::draw_in_order(std::span<float> logits, const SampleHistory& history,
                             const SampleNumbers& numbers, SteerState& state,
                             SampleScratch& scratch) const {
  std::vector<WeighedToken>& kept = scratch.kept;
  bool is_listed = false;
  std::optional<WeighedToken> end;
  if (order_.names(SampleStep::infill)) end = gap_cuts_.likeliest_end(logits);
  for (const SampleStep step : order_.steps()) {
    if (is_of_logits(step)) {
      if (is_listed) write_logits(kept, logits);
      is_listed = false;
      change_logits(step, logits, history, scratch);
      continue;
    }
    if (!is_listed) list_possible(logits, kept);
    is_listed = true;
    if (kept.empty()) return argmax(logits);
    if (step == SampleStep::infill) {
      gap_cuts_.apply(kept, end);
    } else {
      cuts_.apply_step(step, kept, numbers.coin);
    }
  }
  if (!is_listed) list_possible(logits, kept);
  if (kept.empty()) return argmax(logits);
  weigh(kept, 1);
  return draw_of_weighed(numbers.place, state, scratch);
}

}  // namespace ruv
