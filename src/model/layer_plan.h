// LayerPlan: what one layer computes, resolved at load from the family's record and the numbers of
// the file. The decoder walks plans, so layers may differ in anything a plan says.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "device/cache_layout.h"
#include "device/ops.h"
#include "model/delta_heads.h"
#include "model/gated_recurrence.h"
#include "model/index_plan.h"
#include "model/latent_plan.h"
#include "model/matrix_memory.h"
#include "model/relative_plan.h"
#include "model/role.h"
#include "model/rope.h"
#include "model/shared_plan.h"
#include "model/state_space.h"
#include "model/stream_plan.h"
#include "model/time_mix.h"

namespace ruv {

// dense: down(act(up · x)). gated: down(act(gate · x) · (up · x)). experts: for each row some of
// many of either kind, weighted, and those that all rows share. gated_and_experts: both, normalised
// and added (ExpertSpec::beside_dense). channel_mix: with the row before (model/time_mix.h). none:
// the layer ends with what mixes tokens.
enum class FeedForward : uint8_t { dense, gated, experts, gated_and_experts, channel_mix, none };

// How the tokens of a sequence act on each other: through keys and values of all of them; through a
// convolution whose state is the newest few rows; through the matrices of linear attention, after a
// convolution of the same kind; through short rows that all heads share (model/latent_plan.h);
// through averages or matrices that decay (model/time_mix.h); through a recurrence of columns
// (model/gated_recurrence.h); or through the states of a selective scan (model/state_space.h),
// which a layer with attention may have beside it; or through a matrix memory
// (model/matrix_memory.h). none: it is a feed-forward alone.
enum class Mixer : uint8_t {
  attention,
  short_conv,
  delta_net,
  latent,
  time_mix,
  gated_recurrence,
  state_space,
  matrix_memory,
  none
};

// Which rows a layer computes: all; or, of a model that answers a source text, its encoder's those
// of the source, which see each other, and its decoder's those of the answer, which also attend to
// the encoder's last states.
enum class Side : uint8_t { all, source, answer };

struct LayerPlan {
  Side side = Side::all;
  std::string tensors = {};   // what the names of its tensors begin with: "blk.3."
  int64_t n_embd = 0;         // width of the residual stream, the same in all layers of a side
  int64_t n_source_embd = 0;  // of the encoder's, in layers that attend to it
  Norm norm = Norm::rms;
  float norm_eps = 0;
  NormPlace norm_place = NormPlace::pre;
  bool attn_norm = true;  // attention reads a normalised stream, where there are norms before
  // Attention reads two rows in one, which is made outside of the layer (model/draft_head.h).
  bool reads_joined = false;
  bool parallel = false;     // attention and feed-forward read the same stream
  bool shared_norm = false;  // one norm is before both
  bool sub_norms = false;    // norms before the last matrices of both
  bool sums_twice = false;   // NormPlace::sum: the stream is added to attention's sum once more
  float residual_scale = 1;  // of what each adds to the stream

  Mixer mixer = Mixer::attention;
  int64_t n_conv_taps = 0;  // rows that the convolution sums, the own one included
  DeltaHeads delta = {};    // of linear attention
  float linear_norm_eps = 0;
  TimeMixPlan time_mix = {};
  GatedRecurrencePlan recurrence = {};
  StateSpacePlan state_space = {};
  MatrixMemoryPlan memory = {};
  bool halves = false;  // the stream after it is divided by 2
  StreamPlan streams = {};
  SharedPlan shared = {};  // before a state space

  // Widths are those that attention sees; latent layers have one key head.
  int64_t n_heads = 0;  // 0 without attention
  int64_t n_kv_heads = 0;
  int64_t head_dim = 0;   // of queries and keys
  int64_t value_dim = 0;  // of a head's values and results
  LatentPlan latent = {};
  IndexPlan index = {};                            // with latent attention only
  std::array<float, 2> attention_scales = {1, 1};  // beside a state space: of input and result
  // The layer whose keys and values it reads, and keeps none of its own; -1: it keeps them.
  int64_t kv_layer = -1;
  // It puts its own there all the same, for as long as it runs: layers of an encoder in the slots
  // of the source, which the decoder's fill afterwards.
  bool borrows_slots = false;
  bool values_are_keys = false;  // values are keys as the matrix gives them, not rotated
  bool norms_values = false;     // of each head, without weights
  bool gates_attention = false;  // its results are multiplied by the sigmoids of as many numbers
  float clamp_qkv = 0;           // limit of the numbers in q, k and v; 0: none
  QkNorm qk_norm = QkNorm::none;
  bool rotates_first = false;  // before that norm
  int64_t rope = -1;           // index in RopePlans; -1: heads are not rotated
  int64_t window = 0;          // keys that are seen, the own one included; 0: all
  bool chunked = false;        // of them only those of the own chunk of `window` positions
  bool both_ways = false;      // rows see each other, up to `window` - 1 places before and after
  bool has_sinks = false;      // each head has a score without a key (AttendParams::sinks)
  PositionScale query_scale = {};  // slope 0: none
  float attn_scale = 0;            // of q · k
  float attn_softcap = 0;          // 0: none
  // ALiBi: the slope of each head; empty: none.
  std::vector<float> alibi_slopes = {};
  bool alibi_in_bf16 = false;
  RelativePlan relative = {};

  FeedForward feed_forward = FeedForward::gated;
  Act act = Act::silu;
  Act scan_act = Act::silu;                 // of the convolution before a scan
  std::optional<float> gate_cut = {};       // Ops::cut_below of the gate, before act
  std::optional<Xielu> xielu = {};          // in place of act
  int64_t n_ff = 0;                         // of one expert, if there are no others
  std::array<float, 2> ff_scales = {1, 1};  // of a gated one's gate and result

  int64_t n_ff_expert = 0;     // of one expert beside a gated feed-forward
  int64_t n_experts = 0;       // 0 in a layer without them
  int64_t n_experts_used = 0;  // by a row
  RouteParams route = {};
  GateLimits gate_limits = {};  // of experts
  bool weighs_inputs = false;   // of experts
  bool gates_experts = true;    // they are gated feed-forwards, else dense ones
  int64_t n_latent = 0;         // of rows that they read and give; 0: those of the stream
  int64_t n_ff_shared = 0;      // inner width of what all rows share beside the experts; 0: nothing
  bool shared_router = false;   // it has a weight in each row
  float shared_share = 1;       // and in all

  // After the feed-forward: width of the layer's own input, which gates the stream and is added to
  // it (model/layer_input.cpp), 0: it has none; and whether the stream is multiplied by a number.
  int64_t n_input = 0;
  bool scales_stream = false;

  bool has_experts() const {
    return feed_forward == FeedForward::experts || feed_forward == FeedForward::gated_and_experts;
  }
  bool keeps_tokens() const { return n_kv_heads > 0 && kv_layer < 0; }
  bool makes_keys() const { return keeps_tokens() || (n_kv_heads > 0 && borrows_slots); }
  bool norms_before() const {
    return norm_place == NormPlace::pre || norm_place == NormPlace::sandwich;
  }
  bool norms_after() const {
    return norm_place == NormPlace::sandwich || norm_place == NormPlace::post;
  }
  // The matrices that the layer has for this, and how many of them a row is multiplied by.
  int64_t n_matrices(Role role) const;
  int64_t n_matrices_used(Role role) const;
  bool has(Role role) const { return n_matrices(role) > 0; }
  bool has(NormRole role) const;
  // Numbers of the running state that belong to the convolution, its newest inputs; they come
  // first.
  int64_t n_convolved_numbers() const;
  // The number of columns or rows that a matrix has in this layer.
  int64_t extent(LayerSize e) const;

 private:
  int64_t n_matrices_after_mixer(Role role) const;
};

// What layers with these plans keep: keys and values of each token, in f16, where there are heads,
// and elsewhere a running state in f32: the newest n_conv_taps - 1 inputs of a convolution, and
// then the matrices of linear attention.
// Layers that read those of another one keep none. Keys of indexes come after all of them, as
// layers of one head without values, in f16 whatever the type of the others is.
CacheLayout cache_layout(std::span<const LayerPlan> plans);
// The layer of that layout with the keys of a layer's index. Requires: it has its own.
int64_t index_layer(std::span<const LayerPlan> plans, int64_t layer);

// One plan for each layer. Fails: corrupt (the file's pattern of windows does not fit its layers).
Result<std::vector<LayerPlan>> plan_layers(const ModelFile& file, const FamilyRecord& family,
                                           const HParams& h, const RopePlans& rope);

}  // namespace ruv
