// The gated linear recurrence of CpuOps (De et al., 2024). Columns do not depend on each other, so
// threads share them; rows follow each other, so chunks do not matter.
#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "device/cpu/cpu_ops.h"

namespace ruv {
namespace {

// Columns that are worked on together.
constexpr int64_t kColumns = 64;

}  // namespace

void CpuOps::gated_recurrence(View x, View input_gate, View decay_gate,
                              const GatedRecurrenceParams& params) {
  const int64_t n_blocks = (x.n_cols + kColumns - 1) / kColumns;
  const int64_t n_items = n_blocks * std::ssize(batch_->sequences);
  const auto compute = [&](Range items) {
    for (int64_t item = items.begin; item < items.end; ++item) {
      const int64_t begin = item % n_blocks * kColumns;
      recur(batch_->sequences[static_cast<size_t>(item / n_blocks)],
            {begin, std::min(begin + kColumns, x.n_cols)}, x, {input_gate, decay_gate}, params);
    }
  };
  if (!worth_threads(x.n_rows * x.n_cols * 8)) return compute({0, n_items});
  pool_->run([&](int thread) { compute(part_of(n_items, thread, pool_->n_threads())); });
}

void CpuOps::recur(const BatchSequence& sequence, Range columns, View x,
                   const std::array<View, 2>& gates, const GatedRecurrenceParams& params) const {
  CHECK(sequence.state >= 0);
  const int64_t n = columns.end - columns.begin;
  const float* const rate = numbers(*params.rate) + columns.begin;
  const auto sigmoid = kernels_->activate[static_cast<size_t>(Act::sigmoid)];
  float scratch[kColumns];
  float opened[kColumns] = {};   // by the gate of the input
  float kept[kColumns] = {};     // of the state: a
  float squared[kColumns] = {};  // a²
  const StatePart part = {params.layer, params.state_begin + columns.begin, n};
  for_state_rows(sequence, part, scratch, [&](int64_t i, float* state) {
    const int64_t at = sequence.row_begin + i;
    const auto open = [&](View gate, const Vector& bias, float* to) {
      const float* const from = row(gate, at) + columns.begin;
      const float* const added = numbers(bias) + columns.begin;
      for (int64_t c = 0; c < n; ++c) to[c] = from[c] + added[c];
      sigmoid(to, n);
    };
    open(gates[0], *params.input_bias, opened);
    open(gates[1], *params.decay_bias, kept);
    for (int64_t c = 0; c < n; ++c) {
      kept[c] *= rate[c];
      squared[c] = 2 * kept[c];
    }
    kernels_->exp_sum(kept, kColumns, 0.0F);
    kernels_->exp_sum(squared, kColumns, 0.0F);
    const bool is_first = sequence.first_position + i == 0;
    float* const value = row(x, at) + columns.begin;
    for (int64_t c = 0; c < n; ++c) {
      const float share = is_first ? 1.0F : std::sqrt(1.0F - squared[c]);
      state[c] = kept[c] * state[c] + value[c] * opened[c] * share;
      value[c] = state[c];
    }
  });
}

}  // namespace ruv
