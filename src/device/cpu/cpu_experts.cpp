// Experts on CPU cores: the rows of each expert are gathered, so that its matrices are read once in
// a step and multiplied by the usual kernels, as many experts at a time as the scratch has rows
// for. A row's sum has one order, that of its experts' numbers, and each part of it is a product
// that does not depend on other rows: neither does the result.
#include <algorithm>
#include <bitset>
#include <cstring>
#include <limits>

#include "base/check.h"
#include "device/cpu/cpu_ops.h"

namespace ruv {
namespace {

const Vector kNoExpertBias;

// Threads share columns in blocks of a cache line.
constexpr int64_t kColumnsOfThread = 16;

using Chosen = std::bitset<kMaxExperts>;

// A logit that is not a number is never greater; there are always n experts.
Chosen greatest(const float* logits, int64_t n_experts, int64_t n) {
  Chosen chosen;
  for (int64_t i = 0; i < n; ++i) {
    int64_t best = -1;
    for (int64_t e = 0; e < n_experts; ++e) {
      if (chosen[static_cast<size_t>(e)]) continue;
      if (best < 0 || logits[e] > logits[best]) best = e;
    }
    chosen.set(static_cast<size_t>(best));
  }
  return chosen;
}

// One row of routes.
void route_row(const Kernels& kernels, float* route, int64_t n_chosen, const float* logits,
               int64_t n_experts, bool renormalise) {
  alignas(64) float shares[kMaxExperts];
  const int64_t n_whole = (n_experts + kPageTokens - 1) / kPageTokens * kPageTokens;
  std::copy_n(logits, n_experts, shares);
  std::fill(shares + n_experts, shares + n_whole, -std::numeric_limits<float>::infinity());
  const float sum = kernels.exp_sum(shares, n_whole, kernels.largest(shares, n_whole));
  const Chosen chosen = greatest(logits, n_experts, n_chosen);
  float* const weights = route + n_chosen;
  float sum_of_chosen = 0;
  int64_t at = 0;
  for (int64_t e = 0; e < n_experts; ++e) {
    if (!chosen[static_cast<size_t>(e)]) continue;
    route[at] = static_cast<float>(e);
    weights[at] = shares[e] / sum;
    sum_of_chosen += weights[at++];
  }
  if (!renormalise) return;
  for (int64_t i = 0; i < n_chosen; ++i) weights[i] /= sum_of_chosen;
}

}  // namespace

void CpuOps::route(View routes, View logits, bool renormalise) {
  const int64_t n_chosen = routes.n_cols / 2;
  CHECK(logits.n_cols <= kMaxExperts && n_chosen <= logits.n_cols);
  for_rows(logits.n_rows, logits.n_cols * (n_chosen + 4), [&](int64_t i) {
    route_row(*kernels_, row(routes, i), n_chosen, row(logits, i), logits.n_cols, renormalise);
  });
}

// A counting sort, which keeps the order of rows.
void CpuOps::sort_by_expert(View routes, int64_t n_experts) {
  const int64_t n_chosen = routes.n_cols / 2;
  CHECK(n_experts < std::ssize(routed_.begin) &&
        routes.n_rows * n_chosen <= std::ssize(routed_.rows));
  const auto expert_of = [&](int64_t r, int64_t i) {
    return static_cast<size_t>(row(routes, r)[i]);
  };
  std::ranges::fill(routed_.begin, 0);
  for (int64_t r = 0; r < routes.n_rows; ++r) {
    for (int64_t i = 0; i < n_chosen; ++i) ++routed_.begin[expert_of(r, i)];
  }
  // The end of each expert's rows; filled from the last row on, it becomes their begin.
  int64_t end = 0;
  for (int64_t& n : routed_.begin) n = end += n;
  for (int64_t r = routes.n_rows - 1; r >= 0; --r) {
    for (int64_t i = 0; i < n_chosen; ++i) {
      const auto at = static_cast<size_t>(--routed_.begin[expert_of(r, i)]);
      routed_.rows[at] = static_cast<int32_t>(r);
      routed_.weights[at] = row(routes, r)[n_chosen + i];
    }
  }
}

void CpuOps::experts(View out, View x, View routes, const ExpertsParams& params) {
  const int64_t n_experts = std::ssize(params.gate);
  const int64_t room = params.scratch->rows.n_rows;
  sort_by_expert(routes, n_experts);
  std::memset(device_->pointer(out.start), 0, static_cast<size_t>(out.n_bytes()));
  const auto begin_of = [&](int64_t e) { return routed_.begin[static_cast<size_t>(e)]; };
  for (int64_t first = 0, end = 0; first < n_experts; first = end) {
    while (end < n_experts && begin_of(end + 1) - begin_of(first) <= room) ++end;
    CHECK(end > first);  // an expert has at most the rows of the step
    add_experts(out, x, {first, end}, params);
  }
}

void CpuOps::add_experts(View out, View x, Range experts, const ExpertsParams& params) {
  const int64_t* const begin = routed_.begin.data();
  const int64_t first = begin[experts.begin];
  const int64_t n = begin[experts.end] - first;
  if (n == 0) return;
  const View rows{params.scratch->rows.start, n, x.n_cols};
  const View gate{params.scratch->gate.start, n, params.gate[0].n_out};
  const View up{params.scratch->up.start, n, params.up[0].n_out};
  const auto multiply = [&](View to, std::span<const Weight> matrices) {
    for (int64_t e = experts.begin; e < experts.end; ++e) {
      const int64_t n_rows = begin[e + 1] - begin[e];
      const int64_t at = begin[e] - first;
      if (n_rows == 0) continue;
      expert_products_.push_back(
          {to.rows(at, n_rows), &matrices[static_cast<size_t>(e)], &kNoExpertBias, at});
    }
  };
  gather(rows, x,
         std::span(routed_.rows).subspan(static_cast<size_t>(first), static_cast<size_t>(n)));
  expert_products_.clear();
  multiply(gate, params.gate);
  multiply(up, params.up);
  matmul_each(expert_products_, rows);
  this->gate(gate, up, params.act);
  expert_products_.clear();
  multiply(rows, params.down);
  matmul_each(expert_products_, gate);
  const auto add_columns = [&](Range columns) {
    for (int64_t i = 0; i < n; ++i) {
      const auto at = static_cast<size_t>(first + i);
      kernels_->blend(row(out, routed_.rows[at]) + columns.begin, row(rows, i) + columns.begin,
                      columns.end - columns.begin, 1.0F, routed_.weights[at]);
    }
  };
  if (!worth_threads(n * out.n_cols)) return add_columns({0, out.n_cols});
  pool_->run([&](int thread) {
    add_columns(part_of(out.n_cols, thread, pool_->n_threads(), kColumnsOfThread));
  });
}

}  // namespace ruv
