// Routing on CPU cores. A row's scores, choice and weights are computed on one thread in the order
// of the experts, so that they depend on that row alone.
#include <algorithm>
#include <bitset>
#include <cmath>
#include <limits>

#include "base/check.h"
#include "device/cpu/cpu_ops.h"

namespace ruv {
namespace {

using ExpertSet = std::bitset<kMaxExperts>;

constexpr float kBelowAll = -std::numeric_limits<float>::infinity();

// As many numbers as kernels take at once.
constexpr int64_t whole_vectors(size_t n) {
  return (static_cast<int64_t>(n) + kPageTokens - 1) / kPageTokens * kPageTokens;
}

// A number for each expert or group, filled up to whole vectors.
struct alignas(64) ExpertNumbers {
  float at[kMaxExperts];

  // Requires: as many numbers as experts, at most kMaxExperts.
  void fill(std::span<const float> numbers) {
    std::ranges::copy(numbers, at);
    std::fill(at + numbers.size(), at + whole_vectors(numbers.size()), kBelowAll);
  }
};

// The greatest number that is not left out, of equal ones the first. A number that is not a number
// is never greater. Requires: one is not left out.
size_t best_of(std::span<const float> numbers, const ExpertSet& left_out) {
  size_t best = numbers.size();
  for (size_t e = 0; e < numbers.size(); ++e) {
    if (left_out[e]) continue;
    if (best == numbers.size() || numbers[e] > numbers[best]) best = e;
  }
  return best;
}

// The n greatest that are not barred. Requires: as many are not.
ExpertSet greatest(std::span<const float> numbers, int64_t n, const ExpertSet& barred = {}) {
  ExpertSet chosen;
  for (int64_t i = 0; i < n; ++i) chosen.set(best_of(numbers, chosen | barred));
  return chosen;
}

float rank_of(std::span<const float> group, GroupRank rank) {
  float first = group[0];
  float second = kBelowAll;
  for (const float x : group.subspan(1)) {
    second = std::max(second, std::min(first, x));
    first = std::max(first, x);
  }
  return rank == GroupRank::best || group.size() == 1 ? first : first + second;
}

// The experts of the groups that do not have the greatest ranks.
ExpertSet barred_by_groups(std::span<const float> numbers, const RouteParams& params) {
  const auto n_groups = static_cast<size_t>(params.n_groups);
  const size_t size = numbers.size() / n_groups;
  ExpertNumbers ranks;
  for (size_t g = 0; g < n_groups; ++g) {
    ranks.at[g] = rank_of(numbers.subspan(g * size, size), params.group_rank);
  }
  const ExpertSet used = greatest({ranks.at, n_groups}, params.n_groups_used);
  ExpertSet barred;
  for (size_t e = 0; e < numbers.size(); ++e) barred.set(e, !used[e / size]);
  return barred;
}

struct RowRouter {
  const Kernels& kernels;
  const RouteParams& params;
  std::span<const float> choice_bias;    // empty: none
  std::span<const float> expert_scales;  // empty: none
  int64_t n_chosen;

  void operator()(float* route, std::span<const float> logits) const {
    ExpertNumbers weights;
    const ExpertSet chosen =
        params.score == RouterScore::sparsemixer ? mix(logits, weights) : score(logits, weights);
    float sum = 0;
    int64_t n = 0;
    for (size_t e = 0; e < logits.size(); ++e) {
      if (!chosen[e]) continue;
      route[n] = static_cast<float>(e);
      route[n_chosen + n] = weights.at[e];
      sum += weights.at[e];
      ++n;
    }
    const float divisor = std::max(sum + params.sum_added, params.sum_least);
    for (float& weight : std::span(route + n_chosen, static_cast<size_t>(n_chosen))) {
      if (params.normalises) weight /= divisor;
      weight *= params.scale;
    }
    for (int64_t i = 0; !expert_scales.empty() && i < n; ++i) {
      route[n_chosen + i] *= expert_scales[static_cast<size_t>(route[i])];
    }
  }

 private:
  ExpertSet score(std::span<const float> logits, ExpertNumbers& scores) const {
    const size_t n = logits.size();
    scores.fill(logits);
    if (params.score == RouterScore::sigmoid) {
      kernels.activate[static_cast<size_t>(Act::sigmoid)](scores.at, std::ssize(logits));
    } else {
      const float most = kernels.largest(scores.at, whole_vectors(n));
      const float sum = kernels.exp_sum(scores.at, whole_vectors(n), most);
      for (size_t e = 0; e < n; ++e) scores.at[e] /= sum;
    }
    const bool by_rank = params.n_groups == 1 || params.group_rank == GroupRank::best;
    if (choice_bias.empty() && by_rank) return choose(logits);  // scores have the same order
    ExpertNumbers biased;
    for (size_t e = 0; e < n; ++e) {
      biased.at[e] = choice_bias.empty() ? scores.at[e] : scores.at[e] + choice_bias[e];
    }
    return choose({biased.at, n});
  }

  ExpertSet choose(std::span<const float> numbers) const {
    if (params.n_groups == 1) return greatest(numbers, n_chosen);
    return greatest(numbers, n_chosen, barred_by_groups(numbers, params));
  }

  ExpertSet mix(std::span<const float> logits, ExpertNumbers& weights) const {
    ExpertSet chosen;
    for (int64_t i = 0; i < n_chosen; ++i) {
      const size_t best = best_of(logits, chosen);
      const float most = logits[best];
      ExpertNumbers close;
      close.fill(logits);
      for (size_t e = 0; e < logits.size(); ++e) {
        const float distance = (most - logits[e]) / std::max(std::fabs(logits[e]), most);
        if (chosen[e] || distance > params.closeness) close.at[e] = kBelowAll;
      }
      const float sum = kernels.exp_sum(close.at, whole_vectors(logits.size()), most);
      weights.at[best] = close.at[best] / sum;
      chosen.set(best);
    }
    return chosen;
  }
};

}  // namespace

void CpuOps::route(View routes, View logits, const Vector& choice_bias, const RouteParams& params) {
  const auto span_of = [this](const Vector* v) {
    return v == nullptr || v->empty() ? std::span<const float>()
                                      : std::span(numbers(*v), static_cast<size_t>(v->size()));
  };
  const RowRouter router{*kernels_, params, span_of(&choice_bias), span_of(params.expert_scales),
                         routes.n_cols / 2};
  CHECK(params.expert_scales == nullptr || params.expert_scales->size() == logits.n_cols);
  CHECK(logits.n_cols <= kMaxExperts && router.n_chosen <= logits.n_cols);
  CHECK(choice_bias.empty() || choice_bias.size() == logits.n_cols);
  const int64_t n_allowed = logits.n_cols / params.n_groups * params.n_groups_used;
  CHECK(logits.n_cols % params.n_groups == 0 && router.n_chosen <= n_allowed);
  for_rows(logits.n_rows, logits.n_cols * (router.n_chosen + 4), [&](int64_t i) {
    router(row(routes, i), {row(logits, i), static_cast<size_t>(logits.n_cols)});
  });
}

}  // namespace ruv
