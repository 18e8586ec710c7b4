// The gated convolution of CpuOps. Columns do not depend on each other, so threads share them and
// vectors run along them. A column's sum has one order, the bias and then the oldest row first,
// wherever its rows are: in this step or in the state.
#include <algorithm>

#include "base/check.h"
#include "device/cpu/cpu_ops.h"

namespace ruv {
namespace {

// Threads share columns in blocks of a cache line.
constexpr int64_t kBlockColumns = 16;

// The inputs of a convolution, rows of b · x, by their place from a sequence's first row in this
// step on. Places below 0 are in the state.
class ConvInputs {
 public:
  // `state`: n_before rows.
  ConvInputs(float* first, int64_t stride, const float* state, int64_t n_before, int64_t n_cols)
      : first_(first), stride_(stride), state_(state), n_before_(n_before), n_cols_(n_cols) {}

  float* computed(int64_t place) const { return first_ + place * stride_; }
  const float* at(int64_t place) const {
    return place >= 0 ? computed(place) : state_ + (n_before_ + place) * n_cols_;
  }

 private:
  float* first_;
  int64_t stride_;
  const float* state_;
  int64_t n_before_;
  int64_t n_cols_;
};

void multiply_by(float* x, const float* y, Range columns) {
  for (int64_t i = columns.begin; i < columns.end; ++i) x[i] *= y[i];
}

void add_product(float* sum, const float* x, const float* y, Range columns) {
  for (int64_t i = columns.begin; i < columns.end; ++i) sum[i] += x[i] * y[i];
}

}  // namespace

void CpuOps::short_conv(View out, View bcx, const ShortConvParams& params) {
  const auto convolve = [&](Range columns) {
    for (const BatchSequence& sequence : batch_->sequences) {
      short_conv_of(sequence, columns, out, bcx, params);
    }
  };
  if (!worth_threads(bcx.n_rows * bcx.n_cols)) return convolve({0, out.n_cols});
  pool_->run([&](int thread) {
    convolve(part_of(out.n_cols, thread, pool_->n_threads(), kBlockColumns));
  });
}

void CpuOps::short_conv_of(const BatchSequence& sequence, Range columns, View out, View bcx,
                           const ShortConvParams& params) const {
  const int64_t n_cols = out.n_cols;
  const int64_t n_before = params.taps->size() / n_cols - 1;
  const auto state_in = [&](FrameId frame) {
    return device_->numbers(pages_->state(frame, params.layer));
  };
  CHECK(n_before == 0 || sequence.state >= 0);
  const ConvInputs inputs(row(bcx, sequence.row_begin), bcx.n_cols,
                          n_before > 0 ? state_in(sequence.state) : nullptr, n_before, n_cols);
  const float* const taps = numbers(*params.taps);
  const float* const bias = numbers(*params.bias);
  for (int64_t i = 0; i < sequence.n_rows; ++i) {
    float* const b = inputs.computed(i);
    float* const y = row(out, sequence.row_begin + i);
    multiply_by(b, b + 2 * n_cols, columns);
    for (int64_t c = columns.begin; c < columns.end; ++c) y[c] = bias != nullptr ? bias[c] : 0.0F;
    for (int64_t t = 0; t <= n_before; ++t) {
      add_product(y, taps + t * n_cols, inputs.at(i - n_before + t), columns);
    }
    multiply_by(y, b + n_cols, columns);
  }
  for (const StateOut& wanted : sequence.state_outs) {
    for (int64_t s = 0; s < n_before; ++s) {
      const float* const from = inputs.at(wanted.row + 1 - n_before + s);
      std::copy(from + columns.begin, from + columns.end,
                state_in(wanted.frame) + s * n_cols + columns.begin);
    }
  }
}

}  // namespace ruv
