// The time mix of a layer (RWKV), which replaces attention, and the channel mix, which replaces a
// feed-forward: what they compute and what they keep.
#pragma once

#include <array>

#include "device/weight.h"
#include "family/family.h"
#include "format/model_file.h"

namespace ruv {

// With h, the normalised stream, and x_i = lerp(h, the row before it, share_i), kinds compute:
//   averages:   r, k, v of x; σ(r) · average(k, v)
//   matrices:   r, k, v, g of x; time_mix(r, k, v) · silu(g)
//   dynamic:    the same; shares and decays are made of x as well, by matrices of low rank
//   corrected:  r, k, v, decay, rate, g of x; time_mix · g; v is mixed with that of the first layer
struct TimeMixPlan {
  TimeMix kind = TimeMix::none;
  int64_t n_inner = 0;   // numbers of r, k and v
  int64_t head_dim = 0;  // 0: there are no heads
  float norm_eps = 0;    // for heads

  bool exists() const { return kind != TimeMix::none; }
  // float32 of a running state that come after the newest rows of both mixes.
  int64_t n_kept() const { return n_inner * (head_dim > 0 ? head_dim : 3); }
  // All float32 of a running state.
  int64_t state_numbers(int64_t n_embd) const { return exists() ? 2 * n_embd + n_kept() : 0; }
};

// Nothing for families without one. Fails: not_found, corrupt, naming the key.
Result<TimeMixPlan> read_time_mix(const ModelFile& file, const FamilyRecord& family,
                                  int64_t n_embd);

}  // namespace ruv
