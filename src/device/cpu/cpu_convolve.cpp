// The plain convolution of CpuOps, in place. Columns do not depend on each other, so threads share
// them; a column's rows are computed from the newest to the oldest, each before what it reads is
// overwritten. A column's sum has one order, the bias and then the oldest row first, wherever its
// rows are: in this step or in the state.
#include <algorithm>

#include "base/check.h"
#include "device/cpu/cpu_ops.h"

namespace ruv {
namespace {

// Threads share columns in blocks of a cache line.
constexpr int64_t kColumnBlock = 16;

}  // namespace

void CpuOps::convolve(View x, const ConvolveParams& params) {
  const auto convolve = [&](Range columns) {
    for (const BatchSequence& sequence : batch_->sequences) {
      convolve_sequence(sequence, columns, x, params);
    }
  };
  if (!worth_threads(x.n_rows * x.n_cols)) return convolve({0, x.n_cols});
  pool_->run(
      [&](int thread) { convolve(part_of(x.n_cols, thread, pool_->n_threads(), kColumnBlock)); });
}

void CpuOps::convolve_sequence(const BatchSequence& sequence, Range columns, View x,
                               const ConvolveParams& params) const {
  const int64_t n_cols = x.n_cols;
  const int64_t n = columns.end - columns.begin;
  const int64_t n_before = params.taps->size() / n_cols - 1;
  CHECK(n_before == 0 || sequence.state >= 0);
  const auto state_in = [&](FrameId frame) {
    return device_->numbers(pages_->state(frame, params.layer)) + params.state_begin +
           columns.begin;
  };
  const float* const state = n_before > 0 ? state_in(sequence.state) : nullptr;
  // The input at a place from the sequence's first row in this step on.
  const auto input = [&](int64_t place) -> const float* {
    if (place >= 0) return row(x, sequence.row_begin + place) + columns.begin;
    return state + (n_before + place) * n_cols;
  };
  for (const StateOut& wanted : sequence.state_outs) {
    for (int64_t s = 0; s < n_before; ++s) {
      std::copy_n(input(wanted.row + 1 - n_before + s), n, state_in(wanted.frame) + s * n_cols);
    }
  }
  const float* const taps = numbers(*params.taps) + columns.begin;
  const float* const bias = numbers(*params.bias);
  for (int64_t i = sequence.n_rows - 1; i >= 0; --i) {
    float* const y = row(x, sequence.row_begin + i) + columns.begin;
    for (int64_t c = 0; c < n; ++c) {
      float sum = bias != nullptr ? bias[columns.begin + c] : 0.0F;
      for (int64_t t = 0; t < n_before; ++t) {
        sum += input(i - n_before + t)[c] * taps[t * n_cols + c];
      }
      y[c] = sum + y[c] * taps[n_before * n_cols + c];
    }
    if (params.act) kernels_->activate[static_cast<size_t>(*params.act)](y, n);
  }
}

}  // namespace ruv
