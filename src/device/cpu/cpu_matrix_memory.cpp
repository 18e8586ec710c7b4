// The matrix memory of CpuOps. As for the gated delta rule, a head's matrix is in one thread's
// cache while its rows go by one after the other, so chunks do not matter, and threads share the
// heads of all sequences.
#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "base/elementary.h"
#include "device/cpu/cpu_ops.h"

namespace ruv {

void CpuOps::matrix_memory(View out, const MatrixMemoryInputs& in,
                           const MatrixMemoryParams& params) {
  const int64_t n_heads = params.n_heads;
  const int64_t n_items = n_heads * std::ssize(batch_->sequences);
  const auto compute = [&](Range items, int thread) {
    for (int64_t item = items.begin; item < items.end; ++item) {
      const BatchSequence& sequence = batch_->sequences[static_cast<size_t>(item / n_heads)];
      remember(sequence, item % n_heads, out, in, params, thread);
    }
  };
  const int64_t numbers_of_head = params.key_dim * params.value_dim;
  if (!worth_threads(out.n_rows * n_heads * numbers_of_head)) return compute({0, n_items}, 0);
  pool_->run([&](int thread) { compute(part_of(n_items, thread, pool_->n_threads()), thread); });
}

void CpuOps::remember(const BatchSequence& sequence, int64_t head, View out,
                      const MatrixMemoryInputs& in, const MatrixMemoryParams& p, int thread) {
  const int64_t dk = p.key_dim, dv = p.value_dim;
  const int64_t n_matrix = dk * dv, n_state = n_matrix + dk + 1;
  CHECK(sequence.state >= 0 && dk <= limits_.max_state_keys && dv <= limits_.max_state_values);
  float* const scratch = state_scratch_[static_cast<size_t>(thread)].as<float>();
  float* const keep = scratch + n_state;
  float* const key = keep + dk;
  float* const query = key + dk;
  const float unit = 1.0F / std::sqrt(static_cast<float>(dk));
  const StatePart part = {p.layer, p.state_begin + head * n_state, n_state};
  for_state_rows(sequence, part, scratch, [&](int64_t i, float* state) {
    const int64_t at = sequence.row_begin + i;
    float& exponent = state[n_matrix + dk];
    const double opened = double{row(in.input_gate, at)[head]};
    const double kept = double{exponent} - exact_softplus(-double{row(in.forget_gate, at)[head]});
    exponent = static_cast<float>(std::max(kept, opened));
    const auto written = static_cast<float>(exact_exp(opened - double{exponent}));
    std::fill_n(keep, dk, static_cast<float>(exact_exp(kept - double{exponent})));
    const float* const k = row(in.k, at) + head * dk;
    const float* const q = row(in.q, at) + head * dk;
    for (int64_t d = 0; d < dk; ++d) {
      key[d] = k[d] * written;
      query[d] = q[d] * unit;
    }
    const auto take = [&](float* memory, int64_t n_values, const float* value, float* read) {
      kernels_->state_step({.state = memory,
                            .n_keys = dk,
                            .n_values = n_values,
                            .read = nullptr,
                            .keep = keep,
                            .write = nullptr,
                            .key = key,
                            .value = value,
                            .query = query,
                            .memory = nullptr,
                            .out = read});
    };
    float* const result = row(out, at) + head * dv;
    const float one = 1.0F;
    float sum = 0.0F;
    take(state, dv, row(in.v, at) + head * dv, result);
    take(state + n_matrix, 1, &one, &sum);
    const double least = exact_exp(-double{exponent});
    const auto share =
        static_cast<float>(1 / (std::max(std::abs(double{sum}), least) + double{p.eps}));
    for (int64_t v = 0; v < dv; ++v) result[v] *= share;
  });
}

}  // namespace ruv
