// LayerPlan: what one layer computes, resolved at load from the family's record and the numbers of
// the file. The decoder walks plans, so layers may differ in anything a plan says.
#pragma once

#include <span>
#include <vector>

#include "device/cache_layout.h"
#include "model/role.h"
#include "model/rope.h"

namespace ruv {

// dense: down(act(up · x)). gated: down(act(gate · x) · (up · x)).
enum class FeedForward : uint8_t { dense, gated };

// How the tokens of a sequence act on each other: through keys and values of all of them, or
// through a convolution whose state is the newest few rows.
enum class Mixer : uint8_t { attention, short_conv };

struct LayerPlan {
  int64_t n_embd = 0;  // width of the residual stream, the same in all layers
  Norm norm = Norm::rms;
  float norm_eps = 0;
  NormPlace norm_place = NormPlace::pre;

  Mixer mixer = Mixer::attention;
  int64_t n_conv_taps = 0;  // rows that the convolution sums, the own one included

  int64_t n_heads = 0;  // 0 without attention
  int64_t n_kv_heads = 0;
  int64_t head_dim = 0;
  bool qk_norm = false;    // queries and keys are normalised per head
  int64_t rope = -1;       // index in RopePlans; -1: heads are not rotated
  int64_t window = 0;      // keys that are seen, the own one included; 0: all
  float attn_scale = 0;    // of q · k
  float attn_softcap = 0;  // 0: none

  FeedForward feed_forward = FeedForward::gated;
  Act act = Act::silu;
  int64_t n_ff = 0;

  // Whether the layer has a matrix or a norm for this.
  bool has(Role role) const;
  bool has(NormRole role) const;
  // The number of columns or rows that a matrix has in this layer.
  int64_t extent(LayerSize e) const;
};

// What layers with these plans keep: of each token, in f16, or a running state in f32, which is the
// newest n_conv_taps - 1 inputs of the convolution.
CacheLayout cache_layout(std::span<const LayerPlan> plans);

// One plan for each layer. Fails: corrupt (the file's pattern of windows does not fit its layers).
Result<std::vector<LayerPlan>> plan_layers(const ModelFile& file, const FamilyRecord& family,
                                           const HParams& h, const RopePlans& rope);

}  // namespace ruv
