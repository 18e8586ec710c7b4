#include "learn/online_step.h"

#include <algorithm>
#include <cmath>

#include "base/rng.h"

namespace ruv {
namespace {

// From this many ratings on the mean forgets the oldest ones at this rate.
constexpr uint64_t kMostRewards = 100;

// Numbers of an adapter begin small and have no decay: B is 0 where nothing was learned.
AdamNumbers adam_numbers(const StepNumbers& numbers) {
  return {.beta1 = numbers.momentum, .beta2 = numbers.scale_decay, .weight_decay = 0};
}

}  // namespace

Status check(const StepNumbers& numbers) {
  TRY(check(adam_numbers(numbers)));
  const auto is_share = [](double x) { return x >= 0 && x <= 1; };
  if (!(numbers.rate > 0) || !std::isfinite(numbers.rate) || !(numbers.greatest_norm >= 0) ||
      !(numbers.lambda >= 0) || !std::isfinite(numbers.lambda) || !is_share(numbers.rating_share) ||
      !(numbers.rehearsal >= 0) || !std::isfinite(numbers.rehearsal)) {
    return fail(
        Code::invalid,
        "learning: a rate of {}, {} of it for ratings, a greatest norm of {}, a lambda of {}",
        numbers.rate, numbers.rating_share, numbers.greatest_norm, numbers.lambda);
  }
  if (!is_share(numbers.fisher_decay) || !is_share(numbers.replay_share) ||
      numbers.max_anchors < 1 || numbers.max_kept < 1) {
    return fail(
        Code::invalid,
        "learning: a rate of {}, {} of it for ratings, a greatest norm of {}, a lambda of {}, "
        "a rehearsal of {}",
        numbers.rate, numbers.rating_share, numbers.greatest_norm, numbers.lambda,
        numbers.rehearsal);
  }
  return {};
}

// The numbers of the model at this time are those of generation 0.
OnlineLearner::OnlineLearner(GradientModel<float>& model, const StepNumbers& numbers,
                             Adam<float> adam)
    : model_(&model), numbers_(numbers), adam_(std::move(adam)), initial_(model.numbers()) {
  for (const Parameter<float>& group : model.groups()) groups_.push_back(std::ssize(group.values));
}

Result<OnlineLearner> OnlineLearner::create(GradientModel<float>& model, const StepNumbers& numbers,
                                            std::vector<JudgedText> rehearsed) {
  TRY(check(numbers));
  Adam<float> adam = TRY(Adam<float>::create(model.groups(), adam_numbers(numbers)));
  OnlineLearner learner(model, numbers, std::move(adam));
  if (numbers.rehearsal == 0) return learner;
  for (JudgedText& text : rehearsed) {
    learner.base_logits_.push_back(TRY(model.rows(text, Beside::nothing, true)).logits);
    learner.rehearsed_.push_back(std::move(text));
  }
  return learner;
}

LearnState OnlineLearner::initial_state() const {
  const std::vector<float> zeros(initial_.size());
  return {.numbers = initial_, .first = zeros, .second = zeros, .fisher = zeros};
}

// A number that the steps so far decide, so that a restart draws the same.
std::optional<uint64_t> OnlineLearner::next_replay(const LearnState& state) const {
  if (state.kept.empty()) return std::nullopt;
  Rng rng(state.n_steps);
  return state.kept[rng.below(state.kept.size())];
}

// F is of the new text alone, and of its plain log-probability.
Result<OnlineResult> OnlineLearner::gradient_of(LearnState& state, const JudgedText& text,
                                                double counts, const JudgedText* again) {
  const double scale = 1 / static_cast<double>(text.n_judged());
  OnlineResult result{.counts = counts};
  model_->clear_gradient();
  result.loss_before = counts * scale * TRY(model_->add_gradient(text, scale));
  std::vector<float> gradient = model_->gradient();
  if (numbers_.lambda > 0) {
    add_to_fisher(state.fisher, gradient, numbers_.fisher_decay);
    ++state.n_fisher;
  }
  model_->clear_gradient();
  double share = 1;
  if (again != nullptr) {
    share = 0.5;
    TRY(model_->add_gradient(*again, share / static_cast<double>(again->n_judged())));
  }
  if (!rehearsed_.empty()) {
    const size_t turn = state.n_steps % rehearsed_.size();
    const JudgedText& kept = rehearsed_[turn];
    const double weight = numbers_.rehearsal / static_cast<double>(kept.n_judged());
    TRY(model_->add_divergence(kept, base_logits_[turn], weight));
  }
  size_t at = 0;
  for (const Parameter<float>& group : model_->groups()) {
    for (float& g : group.gradient) g += static_cast<float>(counts * share) * gradient[at++];
  }
  result.gradient_norm = gradient_norm<float>(model_->groups(), model_->pool());
  if (std::isfinite(result.gradient_norm)) return result;
  return fail(Code::invalid, "learning: a gradient of norm {}", result.gradient_norm);
}

// Everything happens to a copy of the state. The moments of Adam go in before the step and come out
// after it, since one optimiser serves all instances.
Result<OnlineResult> OnlineLearner::step(LearnState& state, uint64_t number,
                                         const Judgement& judgement, const JudgedText* again) {
  LearnState next = state;
  if (judgement.task != next.task) end_task(next);
  next.task = judgement.task;
  const double counts = judgement.rating ? *judgement.rating - next.mean_reward : 1;
  if (judgement.rating) {
    next.n_rewards = std::min(next.n_rewards + 1, kMostRewards);
    next.mean_reward +=
        (*judgement.rating - next.mean_reward) / static_cast<double>(next.n_rewards);
  } else {
    keep(next, number);
  }
  model_->put(next.numbers);
  OnlineResult result = TRY(gradient_of(next, judgement.text, counts, again));
  const double factor = numbers_.greatest_norm > 0 && result.gradient_norm > numbers_.greatest_norm
                            ? numbers_.greatest_norm / result.gradient_norm
                            : 1;
  size_t at = 0;
  for (size_t i = 0; i < groups_.size(); ++i) {
    const auto n = static_cast<size_t>(groups_[i]);
    std::copy_n(next.first.data() + at, n, adam_.first(i).data());
    std::copy_n(next.second.data() + at, n, adam_.second(i).data());
    at += n;
  }
  const double rate = numbers_.rate * (judgement.rating ? numbers_.rating_share : 1);
  adam_.step(model_->groups(), static_cast<int64_t>(++next.n_steps), rate, factor, model_->pool());
  next.numbers = model_->numbers();
  pull_to_anchors(next.numbers, next.anchors, rate, numbers_.lambda);
  model_->put(next.numbers);
  at = 0;
  for (size_t i = 0; i < groups_.size(); ++i) {
    const auto n = static_cast<size_t>(groups_[i]);
    std::copy_n(adam_.first(i).data(), n, next.first.data() + at);
    std::copy_n(adam_.second(i).data(), n, next.second.data() + at);
    at += n;
  }
  const double scale = 1 / static_cast<double>(judgement.text.n_judged());
  result.loss_after = counts * scale * TRY(model_->loss(judgement.text));
  state = std::move(next);
  return result;
}

void OnlineLearner::pull_to_start(LearnState& state, float share) const {
  for (size_t i = 0; i < initial_.size(); ++i) {
    state.numbers[i] = initial_[i] + share * (state.numbers[i] - initial_[i]);
  }
}

// One in 1 / replay_share corrections; where there is no more room, in the place of a random one.
// Both depend on numbers of the journal alone.
void OnlineLearner::keep(LearnState& state, uint64_t number) const {
  const double before = std::floor(static_cast<double>(state.n_steps) * numbers_.replay_share);
  const double after = std::floor(static_cast<double>(state.n_steps + 1) * numbers_.replay_share);
  if (after <= before) return;
  if (state.kept.size() < numbers_.max_kept) return state.kept.push_back(number);
  Rng rng(number);
  state.kept[rng.below(state.kept.size())] = number;
}

// F begins anew: each task's is its own.
void OnlineLearner::end_task(LearnState& state) const {
  if (numbers_.lambda > 0 && state.n_fisher > 0) {
    state.anchors.push_back({state.task, state.numbers, normalised_fisher(state.fisher, groups_)});
    merge_oldest(state.anchors, numbers_.max_anchors);
  }
  std::ranges::fill(state.fisher, 0.0F);
  state.n_fisher = 0;
}

}  // namespace ruv
