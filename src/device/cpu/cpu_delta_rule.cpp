// The gated delta rule of CpuOps. A head's matrix is in one thread's cache while its rows go by,
// one after the other whether they are a prompt's or an answer's, so chunks do not matter. Threads
// share the heads of all sequences.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/check.h"
#include "base/elementary.h"
#include "device/cpu/cpu_ops.h"

namespace ruv {
namespace {

// Added to a sum of squares before queries and keys are divided by its root.
constexpr float kUnitEps = 1e-6F;

// A thread's vectors of one row: n_keys numbers each, but for memory.
struct DeltaRow {
  float *query_scale, *key_scale;  // weights of the norms that make unit vectors
  float *query, *key, *read, *keep, *write, *memory;

  DeltaRow(float* at, int64_t n_keys) {
    for (float** part : {&query_scale, &key_scale, &query, &key, &read, &keep, &write, &memory}) {
      *part = at;
      at += n_keys;
    }
  }
};

}  // namespace

void CpuOps::delta_rule(View out, const DeltaInputs& in, const DeltaRuleParams& params) {
  const int64_t n_heads = params.n_value_heads;
  const int64_t n_items = n_heads * std::ssize(batch_->sequences);
  const auto compute = [&](Range items, int thread) {
    for (int64_t item = items.begin; item < items.end; ++item) {
      const BatchSequence& sequence = batch_->sequences[static_cast<size_t>(item / n_heads)];
      delta_rule_of(sequence, item % n_heads, out, in, params, thread);
    }
  };
  const int64_t numbers_of_head = params.key_dim * params.value_dim;
  if (!worth_threads(out.n_rows * n_heads * numbers_of_head)) return compute({0, n_items}, 0);
  pool_->run([&](int thread) { compute(part_of(n_items, thread, pool_->n_threads()), thread); });
}

void CpuOps::delta_rule_of(const BatchSequence& sequence, int64_t head, View out,
                           const DeltaInputs& in, const DeltaRuleParams& p, int thread) {
  const int64_t dk = p.key_dim;
  const int64_t dv = p.value_dim;
  const int64_t n_state = dk * dv;
  CHECK(sequence.state >= 0 && dk <= limits_.max_state_keys && dv <= limits_.max_state_values);
  float* const scratch = state_scratch_[static_cast<size_t>(thread)].as<float>();
  const DeltaRow s(scratch + n_state, dk);
  const float unit = 1.0F / std::sqrt(static_cast<float>(dk));
  std::fill_n(s.key_scale, dk, unit);
  std::fill_n(s.query_scale, dk, unit * unit);  // queries are divided by the root of their length

  const int64_t key_head =
      p.tiled ? head % p.n_key_heads : head / (p.n_value_heads / p.n_key_heads);
  const int64_t n_all_keys = p.n_key_heads * dk;
  const int64_t n_decays = in.decay.n_cols / p.n_value_heads;  // of a head
  const double rate = double{numbers(*p.decay_rate)[head]};
  const float* const decay_bias = numbers(*p.decay_bias) + head * n_decays;
  const StatePart matrix = {p.layer, p.state_begin + head * n_state, n_state};
  for_state_rows(sequence, matrix, scratch, [&](int64_t i, float* state) {
    const int64_t at = sequence.row_begin + i;
    const float* const qkv = row(in.qkv, at);
    const float eps = kUnitEps / static_cast<float>(dk);
    kernels_->rms_norm(qkv + key_head * dk, s.query_scale, s.query, dk, eps);
    kernels_->rms_norm(qkv + n_all_keys + key_head * dk, s.key_scale, s.key, dk, eps);
    const double beta = double{p.beta_scale} / (1 + exact_exp(-double{row(in.beta, at)[head]}));
    const float* const decay = row(in.decay, at) + head * n_decays;
    for (int64_t d = 0; d < n_decays; ++d) {
      s.keep[d] = static_cast<float>(
          exact_exp(rate * exact_softplus(double{decay[d]} + double{decay_bias[d]})));
    }
    std::fill(s.keep + n_decays, s.keep + dk, s.keep[0]);
    for (int64_t d = 0; d < dk; ++d) {
      s.read[d] = s.key[d] * s.keep[d];
      s.key[d] *= static_cast<float>(beta);
      s.write[d] = -s.key[d];
    }
    kernels_->state_step({.state = state,
                          .n_keys = dk,
                          .n_values = dv,
                          .read = s.read,
                          .keep = s.keep,
                          .write = s.write,
                          .key = s.key,
                          .value = qkv + 2 * n_all_keys + head * dv,
                          .query = s.query,
                          .memory = s.memory,
                          .out = row(out, at) + head * dv});
  });
}

}  // namespace ruv
