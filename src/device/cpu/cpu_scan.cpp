// The selective scans of CpuOps (Gu and Dao, 2023; Dao and Gu, 2024). Columns and heads do not
// depend on each other, so threads share them; rows of a sequence follow each other, one at a time
// whether they are a prompt's or an answer's, so chunks do not matter.
#include <algorithm>

#include "base/check.h"
#include "base/elementary.h"
#include "device/cpu/cpu_ops.h"

namespace ruv {
namespace {

float step_of(const ScanSteps& steps, float number, float bias) {
  const double x = double{number} * double{steps.scale} + double{bias};
  return std::min(std::max(static_cast<float>(exact_softplus(x)), steps.least), steps.most);
}

}  // namespace

void CpuOps::scan_columns(View out, const ColumnScanInputs& in, const ColumnScanParams& params) {
  const int64_t n_blocks = (out.n_cols + kScanColumns - 1) / kScanColumns;
  const int64_t n_items = n_blocks * std::ssize(batch_->sequences);
  const auto compute = [&](Range items, int thread) {
    for (int64_t item = items.begin; item < items.end; ++item) {
      const int64_t begin = item % n_blocks * kScanColumns;
      scan_columns_of(batch_->sequences[static_cast<size_t>(item / n_blocks)],
                      {begin, std::min(begin + kScanColumns, out.n_cols)}, out, in, params, thread);
    }
  };
  if (!worth_threads(out.n_rows * out.n_cols * in.b.n_cols)) return compute({0, n_items}, 0);
  pool_->run([&](int thread) { compute(part_of(n_items, thread, pool_->n_threads()), thread); });
}

void CpuOps::scan_columns_of(const BatchSequence& sequence, Range columns, View out,
                             const ColumnScanInputs& in, const ColumnScanParams& p, int thread) {
  const int64_t n = columns.end - columns.begin;
  const int64_t n_state = in.b.n_cols;
  CHECK(sequence.state >= 0 && n_state <= limits_.max_state_keys && n <= limits_.max_state_values);
  float* const scratch = state_scratch_[static_cast<size_t>(thread)].as<float>();
  float steps[kScanColumns];
  float values[kScanColumns];
  const float* const bias = numbers(*p.steps.bias) + columns.begin;
  const float* const skip = numbers(*p.skip) + columns.begin;
  const StatePart part = {p.layer, p.state_begin + n_state * columns.begin, n_state * n};
  for_state_rows(sequence, part, scratch, [&](int64_t i, float* state) {
    const int64_t at = sequence.row_begin + i;
    const float* const x = row(in.x, at) + columns.begin;
    const float* const step = row(in.step, at) + columns.begin;
    float* const result = row(out, at) + columns.begin;
    for (int64_t c = 0; c < n; ++c) {
      steps[c] = step_of(p.steps, step[c], bias[c]);
      values[c] = steps[c] * x[c];
    }
    kernels_->scan_step({.state = state,
                         .n_states = n_state,
                         .n_columns = n,
                         .rate = numbers(*p.rate) + columns.begin,
                         .rate_stride = out.n_cols,
                         .step = steps,
                         .value = values,
                         .b = row(in.b, at),
                         .c = row(in.c, at),
                         .out = result});
    for (int64_t c = 0; c < n; ++c) result[c] += skip[c] * x[c];
  });
}

void CpuOps::scan_heads(View out, const HeadScanInputs& in, const HeadScanParams& params) {
  const int64_t n_items = params.n_heads * std::ssize(batch_->sequences);
  const auto compute = [&](Range items, int thread) {
    for (int64_t item = items.begin; item < items.end; ++item) {
      scan_head_of(batch_->sequences[static_cast<size_t>(item / params.n_heads)],
                   item % params.n_heads, out, in, params, thread);
    }
  };
  if (!worth_threads(out.n_rows * out.n_cols * params.n_state)) return compute({0, n_items}, 0);
  pool_->run([&](int thread) { compute(part_of(n_items, thread, pool_->n_threads()), thread); });
}

void CpuOps::scan_head_of(const BatchSequence& sequence, int64_t head, View out,
                          const HeadScanInputs& in, const HeadScanParams& p, int thread) {
  const int64_t n = p.head_dim;
  const int64_t n_matrix = p.n_state * n;
  CHECK(sequence.state >= 0 && p.n_state <= limits_.max_state_keys &&
        n <= limits_.max_state_values);
  float* const scratch = state_scratch_[static_cast<size_t>(thread)].as<float>();
  float* const keep = scratch + n_matrix;
  float* const key = keep + p.n_state;
  const double rate = double{numbers(*p.rate)[head]};
  const float bias = numbers(*p.steps.bias)[head];
  const float skip = numbers(*p.skip)[head];
  const int64_t b_begin = p.n_heads * n + head / (p.n_heads / p.n_groups) * p.n_state;
  const int64_t c_begin = b_begin + p.n_groups * p.n_state;
  const StatePart part = {p.layer, p.state_begin + head * n_matrix, n_matrix};
  for_state_rows(sequence, part, scratch, [&](int64_t i, float* state) {
    const int64_t at = sequence.row_begin + i;
    const float* const xbc = row(in.xbc, at);
    const float* const x = xbc + head * n;
    float* const result = row(out, at) + head * n;
    const float d = step_of(p.steps, row(in.step, at)[head], bias);
    std::fill_n(keep, p.n_state, static_cast<float>(exact_exp(rate * double{d})));
    for (int64_t s = 0; s < p.n_state; ++s) key[s] = d * xbc[b_begin + s];
    kernels_->state_step({.state = state,
                          .n_keys = p.n_state,
                          .n_values = n,
                          .read = nullptr,
                          .keep = keep,
                          .write = nullptr,
                          .key = key,
                          .value = x,
                          .query = xbc + c_begin,
                          .memory = nullptr,
                          .out = result});
    for (int64_t c = 0; c < n; ++c) result[c] += skip * x[c];
  });
}

}  // namespace ruv
