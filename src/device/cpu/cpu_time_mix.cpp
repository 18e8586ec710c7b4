// What layers of RWKV need of CpuOps: rows mixed with those before them, and the weighted sums of
// values that its generations keep, by channel or as matrices. Rows of a sequence follow each
// other, so chunks do not matter; threads share channels or heads.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/check.h"
#include "device/cpu/cpu_ops.h"

namespace ruv {
namespace {

// Channels that are worked on together.
constexpr int64_t kChannels = 64;
// The exponent of a sum of nothing.
constexpr float kNothing = -1e30F;
// e^(-1/2), by which the newest generation's decays are bounded.
constexpr float kSlowestLoss = -0.606531F;

// A thread's vectors of one row of a head.
struct HeadRow {
  float *unit, *read, *keep, *write, *key, *query, *memory;

  HeadRow(float* at, int64_t n) {
    for (float** part : {&unit, &read, &keep, &write, &key, &query, &memory}) {
      *part = at;
      at += n;
    }
  }
};

int64_t whole_pages(int64_t n) { return (n + kPageTokens - 1) / kPageTokens * kPageTokens; }

}  // namespace

void CpuOps::token_shift(View out, View x, const TokenShiftParams& params) {
  const auto n_bytes = static_cast<size_t>(x.n_cols) * sizeof(float);
  for (const BatchSequence& sequence : batch_->sequences) {
    CHECK(sequence.state >= 0);
    const auto state_in = [&](FrameId frame) {
      return device_->numbers(pages_->state(frame, params.layer)) + params.state_begin;
    };
    for_rows(sequence.n_rows, x.n_cols, [&](int64_t i) {
      const float* const before =
          i > 0 ? row(x, sequence.row_begin + i - 1) : state_in(sequence.state);
      std::memcpy(row(out, sequence.row_begin + i), before, n_bytes);
    });
    for (const StateOut& wanted : sequence.state_outs) {
      std::memcpy(state_in(wanted.frame), row(x, sequence.row_begin + wanted.row), n_bytes);
    }
  }
}

void CpuOps::lerp(View out, View x, View y, View share) {
  for_rows(out.n_rows, out.n_cols, [&](int64_t i) {
    const float* const s = row(share, share.n_rows == 1 ? 0 : i);
    const float* const from = row(x, i);
    const float* const to = row(y, i);
    float* const result = row(out, i);
    for (int64_t c = 0; c < out.n_cols; ++c) result[c] = from[c] + (to[c] - from[c]) * s[c];
  });
}

void CpuOps::multiply(View x, View y) {
  for_rows(x.n_rows, x.n_cols, [&](int64_t i) {
    float* const result = row(x, i);
    const float* const factor = row(y, y.n_rows == 1 ? 0 : i);
    for (int64_t c = 0; c < x.n_cols; ++c) result[c] *= factor[c];
  });
}

void CpuOps::average(View out, View k, View v, const AverageParams& params) {
  const int64_t n_blocks = (out.n_cols + kChannels - 1) / kChannels;
  const int64_t n_items = n_blocks * std::ssize(batch_->sequences);
  const auto compute = [&](Range items) {
    for (int64_t item = items.begin; item < items.end; ++item) {
      const int64_t begin = item % n_blocks * kChannels;
      average_of(batch_->sequences[static_cast<size_t>(item / n_blocks)],
                 {begin, std::min(begin + kChannels, out.n_cols)}, out, k, v, params);
    }
  };
  if (!worth_threads(out.n_rows * out.n_cols * 8)) return compute({0, n_items});
  pool_->run([&](int thread) { compute(part_of(n_items, thread, pool_->n_threads())); });
}

// The sums are of weights e^(x - top): they neither overflow nor vanish.
void CpuOps::average_of(const BatchSequence& sequence, Range channels, View out, View k, View v,
                        const AverageParams& params) const {
  CHECK(sequence.state >= 0);
  const int64_t n = channels.end - channels.begin;
  const float* const decay = numbers(*params.decay) + channels.begin;
  const float* const bonus = numbers(*params.bonus) + channels.begin;
  float scratch[3 * kChannels];
  float old[kChannels] = {};
  float fresh[kChannels] = {};
  float key[kChannels];
  float value[kChannels];
  const StatePart sums = {params.layer, params.state_begin + 3 * channels.begin, 3 * n};
  for_state_rows(sequence, sums, scratch, [&](int64_t i, float* state) {
    const int64_t at = sequence.row_begin + i;
    std::copy_n(row(k, at) + channels.begin, n, key);  // results may lie in their place
    std::copy_n(row(v, at) + channels.begin, n, value);
    float* const result = row(out, at) + channels.begin;
    float* const sum = state;
    float* const weight = state + n;
    float* const top = state + 2 * n;
    const auto weigh = [&](const float* past, const float* now) {
      for (int64_t c = 0; c < n; ++c) {
        const float before = weight[c] > 0 ? top[c] + (past != nullptr ? past[c] : 0.0F) : kNothing;
        const float own = key[c] + (now != nullptr ? now[c] : 0.0F);
        const float most = std::max(before, own);
        if (past != nullptr) top[c] = most;
        old[c] = before - most;
        fresh[c] = own - most;
      }
      kernels_->exp_sum(old, kChannels, 0.0F);
      kernels_->exp_sum(fresh, kChannels, 0.0F);
    };
    weigh(nullptr, bonus);
    for (int64_t c = 0; c < n; ++c) {
      result[c] = (old[c] * sum[c] + fresh[c] * value[c]) / (old[c] * weight[c] + fresh[c]);
    }
    weigh(decay, nullptr);
    for (int64_t c = 0; c < n; ++c) {
      sum[c] = old[c] * sum[c] + fresh[c] * value[c];
      weight[c] = old[c] * weight[c] + fresh[c];
    }
  });
}

void CpuOps::time_mix(View out, const TimeMixInputs& in, const TimeMixParams& params) {
  const int64_t n_heads = out.n_cols / params.head_dim;
  const int64_t n_items = n_heads * std::ssize(batch_->sequences);
  const auto compute = [&](Range items, int thread) {
    for (int64_t item = items.begin; item < items.end; ++item) {
      time_mix_of(batch_->sequences[static_cast<size_t>(item / n_heads)], item % n_heads, out, in,
                  params, thread);
    }
  };
  if (!worth_threads(out.n_rows * out.n_cols * params.head_dim)) return compute({0, n_items}, 0);
  pool_->run([&](int thread) { compute(part_of(n_items, thread, pool_->n_threads()), thread); });
}

// keep: numbers in whole pages of tokens, for the exponentials.
void CpuOps::decays_of(const float* w, float* keep, int64_t n, TimeDecay decay) const {
  const int64_t n_padded = whole_pages(n);
  std::copy_n(w, n, keep);
  if (decay == TimeDecay::given) return;
  std::fill(keep + n, keep + n_padded, 0.0F);
  if (decay == TimeDecay::rates) {
    kernels_->exp_sum(keep, n_padded, 0.0F);
    for (int64_t d = 0; d < n_padded; ++d) keep[d] = -keep[d];
  } else {
    kernels_->activate[static_cast<size_t>(Act::sigmoid)](keep, n);
    for (int64_t d = 0; d < n_padded; ++d) keep[d] *= kSlowestLoss;
  }
  kernels_->exp_sum(keep, n_padded, 0.0F);
}

void CpuOps::time_mix_of(const BatchSequence& sequence, int64_t head, View out,
                         const TimeMixInputs& in, const TimeMixParams& p, int thread) {
  const int64_t n = p.head_dim;
  CHECK(sequence.state >= 0 && n <= limits_.max_state_keys && n <= limits_.max_state_values);
  float* const scratch = state_scratch_[static_cast<size_t>(thread)].as<float>();
  const HeadRow s(scratch + n * n, whole_pages(n));
  std::fill_n(s.unit, n, 1.0F / std::sqrt(static_cast<float>(n)));
  const int64_t first = head * n;
  const float* const bonus = numbers(*p.bonus) + first;
  const bool corrects = p.key_share != nullptr;
  const StatePart matrix = {p.layer, p.state_begin + first * n, n * n};
  for_state_rows(sequence, matrix, scratch, [&](int64_t i, float* state) {
    const int64_t at = sequence.row_begin + i;
    const float* const r = row(in.r, at) + first;
    const float* const k = row(in.k, at) + first;
    const float* const v = row(in.v, at) + first;
    decays_of(row(in.decay, in.decay.n_rows == 1 ? 0 : at) + first, s.keep, n, p.decay);
    std::copy_n(k, n, s.key);
    std::copy_n(r, n, s.read);
    if (corrects) {
      const float* const rate = row(in.rate, at) + first;
      const float* const removed = numbers(*p.removed_key) + first;
      const float* const share = numbers(*p.key_share) + first;
      for (int64_t d = 0; d < n; ++d) s.write[d] = k[d] * removed[d];
      kernels_->rms_norm(s.write, s.unit, s.write, n, 1e-24F);
      for (int64_t d = 0; d < n; ++d) {
        s.read[d] = -s.write[d];
        s.write[d] *= rate[d];
        s.key[d] = k[d] * (1 + (rate[d] - 1) * share[d]);
      }
    }
    float own = 0;
    for (int64_t d = 0; d < n; ++d) own += r[d] * s.key[d] * bonus[d];
    float* const result = row(out, at) + first;
    float* const other = s.memory;
    kernels_->state_step({.state = state,
                          .n_keys = n,
                          .n_values = n,
                          .read = s.read,
                          .keep = s.keep,
                          .write = corrects ? s.write : nullptr,
                          .key = s.key,
                          .value = v,
                          .query = r,
                          .memory = corrects ? other : result,
                          .out = corrects ? result : other});
    const auto add_own = [&] {
      for (int64_t d = 0; d < n; ++d) result[d] += own * v[d];
    };
    if (!corrects) add_own();
    kernels_->layer_norm(result, numbers(*p.norm_weight) + first, numbers(*p.norm_bias) + first,
                         result, n, p.norm_eps);
    if (corrects) add_own();
  });
}

}  // namespace ruv
