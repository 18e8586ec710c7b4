#include "model/layer_plan.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "format/xielu.h"
#include "model/alibi.h"
#include "model/encoder_numbers.h"

namespace ruv {
namespace {

constexpr std::string_view kPattern = "attention.sliding_window_pattern";

// Whether each layer sees only the window: the file's own pattern, or the family's rule.
Result<std::vector<bool>> windowed_layers(const ModelFile& file, BlockSpec block,
                                          int64_t n_layers) {
  const MetaValue* const value = file.find(kPattern);
  const auto* const array =
      value == nullptr ? nullptr : std::get_if<std::shared_ptr<const MetaArray>>(value);
  if (array != nullptr) {
    if ((*array)->bools.size() != static_cast<size_t>(n_layers)) {
      return fail(Code::corrupt, "{}: '{}' must hold {} truth values", file.path(),
                  file.shown_key(kPattern), n_layers);
    }
    return (*array)->bools;
  }
  if (value != nullptr) {
    block.windows = Windows::periodic;
    block.window_period = TRY(read_dimension(file, kPattern));
  }
  std::vector<bool> windowed;
  for (int64_t i = 0; i < n_layers; ++i) windowed.push_back(is_windowed(block, i));
  return windowed;
}

// Whether each layer has positions: the file's own list, or the family's rule.
Result<std::vector<bool>> rotated_layers(const ModelFile& file, const BlockSpec& block,
                                         const HParams& h, const std::vector<bool>& windowed) {
  constexpr std::string_view kKey = "rope.rotated_layers";
  if (const MetaValue* const value = file.find(kKey); value != nullptr) {
    const auto* const array = std::get_if<std::shared_ptr<const MetaArray>>(value);
    if (array != nullptr && std::cmp_equal((*array)->bools.size(), h.n_layers))
      return (*array)->bools;
    return fail(Code::corrupt, "{}: '{}' must hold {} truth values", file.path(),
                file.shown_key(kKey), h.n_layers);
  }
  std::vector<bool> rotated;
  for (int64_t i = 0; i < h.n_layers; ++i) {
    const bool is_windowed = h.window > 0 && windowed[static_cast<size_t>(i)];
    const bool is_left_out =
        block.unrotated_period > 0 && i % block.unrotated_period == block.unrotated_period - 1;
    const bool sees_all = block.only_windows_rotate && h.window > 0 && !is_windowed;
    rotated.push_back(!is_left_out && !sees_all);
  }
  return rotated;
}

// How the queries of growing layers grow; a slope of 0 means that none does. Files without a span
// mean the context that their positions were made for.
Result<PositionScale> query_growth(const ModelFile& file, const FamilyRecord& family,
                                   int64_t window) {
  constexpr std::string_view kSlope = "attention.temperature_scale";
  const BlockSpec& block = family.block;
  PositionScale growth{.offset = block.growth == Growth::unrotated ? 1 : 0};
  if (block.growth == Growth::none) return growth;
  if (file.find(kSlope) == nullptr) {
    if (file.container() != "gguf" || window == 0) return growth;
    growth.slope = family.usual_growth.slope;
    growth.span = family.usual_growth.span;
    return growth;
  }
  growth.slope = static_cast<float>(TRY(file.number(kSlope)));
  if (!std::isfinite(growth.slope)) {
    return fail(Code::corrupt, "{}: '{}' is not a finite number", file.path(),
                file.shown_key(kSlope));
  }
  constexpr std::string_view kOwn = "attention.temperature_length";
  const bool has_own = file.find(kOwn) != nullptr;
  growth.span = TRY(read_dimension(file, has_own ? kOwn : "rope.scaling.original_context_length"));
  return growth;
}

// Which layers have experts: by the file's numbers, or those with a router.
Result<std::vector<bool>> layers_with_experts(const ModelFile& file, const HParams& h) {
  constexpr std::string_view kKey = "expert_layers";
  std::vector<bool> with_experts(static_cast<size_t>(h.n_layers), false);
  if (h.n_experts == 0) return with_experts;
  if (const MetaValue* const value = file.find(kKey); value != nullptr) {
    const auto* const array = std::get_if<std::shared_ptr<const MetaArray>>(value);
    if (array != nullptr && (*array)->bools.size() == with_experts.size()) return (*array)->bools;
    return fail(Code::corrupt, "{}: '{}' must hold {} truth values", file.path(),
                file.shown_key(kKey), h.n_layers);
  }
  for (int64_t i = 0; i < h.n_layers; ++i) {
    with_experts[static_cast<size_t>(i)] =
        file.find_tensor(fmt::format("blk.{}.ffn_gate_inp.weight", i)) != nullptr;
  }
  return with_experts;
}

// Whether each layer reads what a layer before has chosen: by the file's list, or, in GGUF files
// without one, where the index has no tensors.
Result<std::vector<bool>> layers_that_share_choices(const ModelFile& file, const HParams& h) {
  constexpr std::string_view kKey = "attention.indexer.shared_layers";
  std::vector<bool> shared(static_cast<size_t>(h.n_layers), false);
  if (!h.index.exists()) return shared;
  if (const MetaValue* const value = file.find(kKey); value != nullptr) {
    const auto* const array = std::get_if<std::shared_ptr<const MetaArray>>(value);
    if (array == nullptr || (*array)->bools.size() != shared.size()) {
      return fail(Code::corrupt, "{}: '{}' must hold {} truth values", file.path(),
                  file.shown_key(kKey), h.n_layers);
    }
    shared = (*array)->bools;
    if (!shared.front()) return shared;
    return fail(Code::corrupt, "{}: '{}': the first layer has none before it that chooses",
                file.path(), file.shown_key(kKey));
  }
  for (int64_t i = 1; i < h.n_layers && file.container() == "gguf"; ++i) {
    shared[static_cast<size_t>(i)] =
        file.find_tensor(fmt::format("blk.{}.indexer.attn_k.weight", i)) == nullptr;
  }
  return shared;
}

// Where the stream has been halved, what is added to it must be smaller as well. GGUF files have
// that in their weights.
float share_of_halved(const ModelFile& file, const HParams& h, int64_t layer) {
  if (h.halve_every == 0 || file.container() == "gguf") return 1;
  return std::ldexp(1.0F, static_cast<int>(-layer / h.halve_every));
}

void plan_index(LayerPlan& plan, const HParams& h, bool is_shared) {
  plan.index = h.index;
  plan.index.is_shared = is_shared;
}

// What layers have in the place of attention.
Mixer other_mixer(const BlockSpec& block, const HParams& h) {
  if (h.delta.n_values > 0) return Mixer::delta_net;
  if (block.mixers == Mixers::time_mix) return Mixer::time_mix;
  if (block.mixers == Mixers::gated_recurrence) return Mixer::gated_recurrence;
  if (h.state_space.exists()) return Mixer::state_space;
  return h.memory.exists() ? Mixer::matrix_memory : Mixer::short_conv;
}

// What follows attention or convolution.
void plan_feed_forward(LayerPlan& plan, const FamilyRecord& family, const HParams& h, int64_t i,
                       bool experts) {
  const BlockSpec& block = family.block;
  const ExpertSpec& spec = family.experts;
  plan.feed_forward = h.gates ? FeedForward::gated : FeedForward::dense;
  if (block.mixers == Mixers::time_mix) plan.feed_forward = FeedForward::channel_mix;
  if (block.mixers == Mixers::state_space) plan.feed_forward = FeedForward::none;
  plan.act = h.act;
  plan.scan_act = block.one_half || block.shared_blocks ? h.scan_act : h.act;
  plan.n_ff = block.widths_by_layer ? h.ff_widths[static_cast<size_t>(i)] : h.n_ff;
  plan.ff_scales = h.ff_scales;
  if (!experts) return;
  plan.feed_forward = spec.beside_dense ? FeedForward::gated_and_experts : FeedForward::experts;
  (spec.beside_dense ? plan.n_ff_expert : plan.n_ff) = h.n_ff_expert;
  plan.n_latent = h.n_latent;
  plan.gates_experts = block.gated;
  plan.n_experts = h.n_experts;
  plan.n_experts_used = h.n_experts_used;
  plan.route = h.route;
  plan.gate_limits = h.gate_limits;
  plan.weighs_inputs = spec.weighs_inputs;
  plan.n_ff_shared = h.n_ff_shared;
  if (h.averages_shared) {
    plan.shared_share = 0.5F;
    plan.route.scale *= 0.5F;
  }
  plan.shared_router = spec.shared_router && h.n_ff_shared > 0;
}

// A feed-forward where there is a width for one or experts, else what mixes tokens.
void keep_one_half(LayerPlan& plan, int64_t n_ff) {
  const bool has_experts = plan.feed_forward == FeedForward::experts;
  if (n_ff == 0 && !has_experts) {
    plan.feed_forward = FeedForward::none;
    return;
  }
  if (!has_experts) plan.n_ff = n_ff;
  plan.mixer = Mixer::none;
  plan.state_space = {};
  plan.n_conv_taps = plan.n_heads = plan.n_kv_heads = 0;
}

// The last layers read what the last one of their kind before them keeps.
Status plan_sharing_layers(const ModelFile& file, const HParams& h,
                           const std::vector<bool>& windowed, std::vector<LayerPlan>& plans) {
  const int64_t first = h.n_layers - h.n_sharing_layers;
  for (int64_t i = first; i < h.n_layers; ++i) {
    int64_t from = first - 1;
    while (from >= 0 && windowed[static_cast<size_t>(from)] != windowed[static_cast<size_t>(i)]) {
      --from;
    }
    if (from < 0) {
      return fail(Code::corrupt,
                  "{}: '{}' = {}: no layer before them is of the kind of layer {}, whose keys and "
                  "values it could read",
                  file.path(), file.shown_key("attention.shared_kv_layers"), h.n_sharing_layers, i);
    }
    plans[static_cast<size_t>(i)].kv_layer = from;
  }
  return {};
}

// Which side of an encoder and a decoder a layer is of, and what follows from it. The decoder comes
// last; its first layer's slots are lent to the encoder, whose keys and values are as large.
void plan_side(LayerPlan& plan, const BlockSpec& block, const HParams& h, int64_t i) {
  plan.relative = h.relative;
  if (!h.reads_source()) {
    plan.side = block.only_source ? Side::source : Side::all;
    plan.tensors = fmt::format("{}blk.{}.", block.only_source ? "enc." : "", i);
    return;
  }
  const bool encodes = i < h.n_encoder_layers;
  plan.side = encodes ? Side::source : Side::answer;
  plan.tensors =
      encodes ? fmt::format("enc.blk.{}.", i) : fmt::format("dec.blk.{}.", i - h.n_encoder_layers);
  plan.n_source_embd = h.of_encoder().n_embd;
  if (!encodes) plan.relative = h.answer_relative;
  if (!encodes) return;
  plan.both_ways = true;
  plan.kv_layer = h.n_encoder_layers;
  plan.borrows_slots = true;
}

// Layers in turn have the weights of as many as the file counts. The group is rounded as the
// reference rounds it.
Status plan_groups(const ModelFile& file, std::vector<LayerPlan>& plans) {
  constexpr std::string_view kCount = "layer_group_count";
  const int64_t n = TRY(read_dimension(file, kCount));
  if (n > std::ssize(plans)) {
    return fail(Code::unsupported, "{}: '{}' {} is above the {} layers", file.path(),
                file.shown_key(kCount), n, plans.size());
  }
  const auto n_layers = static_cast<double>(plans.size());
  for (size_t i = 0; i < plans.size(); ++i) {
    const double share = static_cast<double>(i) / (n_layers / static_cast<double>(n));
    plans[i].tensors = fmt::format("blk.{}.", static_cast<int64_t>(share));
  }
  return {};
}

// What a layer has that is unlike others. Requires: attention.
void plan_unlike(LayerPlan& plan, const BlockSpec& block, const HParams& h, int64_t i) {
  const auto at = static_cast<size_t>(i);
  plan.n_ff = h.ff_widths[at];
  if (plan.window > 0) plan.head_dim = plan.value_dim = h.local_head_dim;
  plan.values_are_keys = h.values_are_keys[at] && plan.window == 0;
  plan.norms_values = block.norms_values;
  plan.n_input = h.n_layer_input;
  plan.scales_stream = block.scales_layers;
}

void plan_gate_cut(LayerPlan& plan, const HParams& h, int64_t i) {
  const float cut = h.gate_cuts[static_cast<size_t>(i)];
  if (std::isfinite(cut)) plan.gate_cut = cut;
}

// The newest layer: one with attention has a block that shares the weights of the first blocks in
// turn, and its feed-forward is the block's; others are scans alone.
void plan_shared_block(std::vector<LayerPlan>& layers, const HParams& h) {
  LayerPlan& plan = layers.back();
  if (plan.n_heads == 0) {
    plan.feed_forward = FeedForward::none;
    return;
  }
  plan.shared = h.shared;
  plan.shared.layer = std::ssize(layers) - 1;
  plan.shared.use = 0;
  std::vector<int64_t> owners;
  for (const LayerPlan& p : layers) {
    if (!p.shared.exists() || &p == &plan) continue;
    ++plan.shared.use;
    if (std::ssize(owners) < h.n_shared_blocks) owners.push_back(p.shared.layer);
  }
  if (std::ssize(owners) < h.n_shared_blocks) return;
  plan.shared.layer = owners[static_cast<size_t>(plan.shared.use % h.n_shared_blocks)];
}

// Those of experts and of what is beside them.
int64_t expert_matrices(const LayerPlan& p, Role role) {
  switch (role) {
    case Role::router:
      return int64_t{p.has_experts()};
    case Role::expert_low:
    case Role::expert_high:
      return int64_t{p.n_latent > 0};
    case Role::expert_up:
    case Role::expert_down:
      return p.n_experts;
    case Role::expert_gate:
      return p.gates_experts ? p.n_experts : 0;
    case Role::shared_up:
    case Role::shared_down:
      return int64_t{p.n_ff_shared > 0};
    case Role::shared_gate:
      return int64_t{p.n_ff_shared > 0 && p.gates_experts};
    case Role::shared_router:
      return int64_t{p.shared_router};
    default:
      return 0;
  }
}

// Lengths of streams, of blocks that share weights and of indexes.
int64_t added_extent(const LayerPlan& p, LayerSize e) {
  switch (e) {
    case LayerSize::streams:
      return p.streams.n;
    case LayerSize::stream_pairs:
      return p.streams.n * p.streams.n;
    case LayerSize::beside_rank:
      return p.streams.low_rank;
    case LayerSize::attn_in:
      return p.shared.exists() || p.reads_joined ? 2 * p.n_embd : p.n_embd;
    case LayerSize::attn_rank:
      return p.shared.attn_rank;
    case LayerSize::ff_rank:
      return p.shared.ff_rank;
    case LayerSize::index_q:
      return p.index.n_heads * p.index.head_dim;
    case LayerSize::index_k:
      return p.index.head_dim;
    case LayerSize::index_heads:
      return p.index.n_heads;
    default:
      return 0;
  }
}

}  // namespace

int64_t LayerPlan::n_matrices(Role role) const {
  const auto one_if = [](bool has) { return int64_t{has}; };
  if (is_of_index(role)) return one_if(index.is_own());
  switch (role) {
    case Role::q:
      return one_if(mixer == Mixer::attention);
    case Role::k:
      return one_if(mixer == Mixer::attention && makes_keys());
    case Role::v:
      return one_if(mixer == Mixer::attention && makes_keys() && !values_are_keys);
    case Role::cross_q:
    case Role::cross_k:
    case Role::cross_v:
    case Role::cross_o:
      return one_if(side == Side::answer);
    case Role::attn_gate:
      return one_if(mixer == Mixer::attention && gates_attention);
    case Role::q_a:
      return one_if(mixer == Mixer::latent && latent.q_rank > 0);
    case Role::q_plain:
    case Role::q_rope:
    case Role::kv_a:
    case Role::k_rope:
      return one_if(mixer == Mixer::latent);
    case Role::k_b:
    case Role::v_b:
      return mixer == Mixer::latent ? n_heads : 0;
    case Role::o:
      return one_if(mixer == Mixer::attention || mixer == Mixer::latent);
    case Role::conv_in:
    case Role::conv_out:
      return one_if(mixer == Mixer::short_conv);
    case Role::delta_in:
    case Role::beta:
    case Role::delta_out:
      return one_if(mixer == Mixer::delta_net);
    case Role::delta_gate:
    case Role::decay:
      return one_if(mixer == Mixer::delta_net && !delta.by_channel);
    case Role::gate_low:
    case Role::gate_up:
    case Role::decay_low:
    case Role::decay_up:
      return one_if(mixer == Mixer::delta_net && delta.by_channel);
    case Role::recurrence_x:
    case Role::recurrence_y:
    case Role::recurrence_out:
      return one_if(mixer == Mixer::gated_recurrence);
    case Role::memory_q:
    case Role::memory_k:
    case Role::memory_v:
    case Role::memory_gate:
    case Role::memory_in:
    case Role::memory_forget:
    case Role::memory_out:
      return one_if(memory.exists());
    case Role::state_z:
    case Role::state_x:
    case Role::state_out:
      return one_if(state_space.exists());
    case Role::state_steps:
      return one_if(state_space.by_head());
    case Role::state_low:
    case Role::state_b:
    case Role::state_c:
    case Role::state_up:
      return one_if(state_space.kind == StateSpace::columns);
    case Role::time_r:
    case Role::time_k:
    case Role::time_v:
    case Role::time_out:
      return one_if(mixer == Mixer::time_mix);
    case Role::time_g:
      return one_if(time_mix.kind == TimeMix::matrices || time_mix.kind == TimeMix::dynamic);
    default:
      return n_matrices_after_mixer(role);
  }
}

int64_t LayerPlan::n_matrices_after_mixer(Role role) const {
  const auto one_if = [](bool has) { return int64_t{has}; };
  const bool is_gated =
      feed_forward == FeedForward::gated || feed_forward == FeedForward::gated_and_experts;
  switch (role) {
    case Role::channel_k:
    case Role::channel_v:
      return one_if(feed_forward == FeedForward::channel_mix);
    case Role::channel_r:
      return one_if(feed_forward == FeedForward::channel_mix &&
                    time_mix.kind != TimeMix::corrected);
    case Role::gate:
      return one_if(is_gated);
    case Role::up:
    case Role::down:
      return one_if(is_gated || feed_forward == FeedForward::dense);
    case Role::input_gate:
    case Role::input_out:
      return one_if(n_input > 0);
    case Role::stream_router:
    case Role::stream_predict:
    case Role::stream_correct:
    case Role::beside_low:
    case Role::beside_high:
      return one_if(streams.exists());
    case Role::q_low:
    case Role::q_high:
    case Role::k_low:
    case Role::k_high:
    case Role::v_low:
    case Role::v_high:
      return one_if(shared.attn_rank > 0);
    case Role::ff_low:
    case Role::gate_high:
    case Role::up_high:
      return one_if(shared.ff_rank > 0);
    case Role::block_out:
      return one_if(shared.exists());
    default:
      return expert_matrices(*this, role);
  }
}

int64_t LayerPlan::n_matrices_used(Role role) const {
  const bool chooses = !role_rows()[static_cast<size_t>(role)].of_experts.empty();
  return chooses ? std::min(n_matrices(role), n_experts_used) : n_matrices(role);
}

bool LayerPlan::has(NormRole role) const {
  switch (role) {
    case NormRole::q:
      return qk_norm != QkNorm::none && mixer == Mixer::attention;
    case NormRole::k:
      return qk_norm != QkNorm::none && has(Role::k);
    case NormRole::v:
      return norms_values && has(Role::k);
    case NormRole::dense_post:
    case NormRole::router:
    case NormRole::experts:
    case NormRole::experts_post:
      return feed_forward == FeedForward::gated_and_experts;
    case NormRole::input_post:
      return n_input > 0;
    case NormRole::stream_router:
    case NormRole::beside_post:
      return streams.exists();
    case NormRole::scan:
      return shared.exists();
    case NormRole::q_a:
      return has(Role::q_a);
    case NormRole::kv_a:
      return has(Role::kv_a);
    case NormRole::index_k:
      return has(Role::index_k);
    case NormRole::attn_sub:
    case NormRole::ffn_sub:
      return sub_norms;
    case NormRole::attn_post:
      return norms_after();
    case NormRole::ffn_post:
      return norms_after() && feed_forward != FeedForward::none;
    case NormRole::attn_sum:
      return norm_place == NormPlace::sum;
    case NormRole::attn_sum_again:
      return norm_place == NormPlace::sum && sums_twice;
    case NormRole::ffn_sum:
      return norm_place == NormPlace::sum && feed_forward != FeedForward::none;
    case NormRole::attn:
      return norms_before() && attn_norm;
    case NormRole::cross:
      return side == Side::answer && norms_before();
    case NormRole::cross_post:
      return side == Side::answer && norms_after();
    case NormRole::ffn:
      return norms_before() && !(parallel && shared_norm) && feed_forward != FeedForward::none &&
             mixer != Mixer::none;
  }
  return false;
}

int64_t LayerPlan::extent(LayerSize e) const {
  switch (e) {
    case LayerSize::embd:
      return n_embd;
    case LayerSize::source_embd:
      return n_source_embd;
    case LayerSize::q:
      return n_heads * head_dim + memory.n_keys();
    case LayerSize::k:
      return n_kv_heads * head_dim + memory.n_keys();
    case LayerSize::v:
      return n_kv_heads * value_dim + memory.n_inner();
    case LayerSize::attn:
      return n_heads * value_dim;
    case LayerSize::o:
      return n_heads * (mixer == Mixer::latent ? latent.value_dim : value_dim);
    case LayerSize::q_rank:
      return latent.q_rank;
    case LayerSize::kv_rank:
      return latent.kv_rank;
    case LayerSize::q_from:
      return mixer == Mixer::latent && latent.q_rank == 0 ? n_embd : latent.q_rank;
    case LayerSize::q_plain:
      return n_heads * latent.plain_dim;
    case LayerSize::q_rope:
      return n_heads * latent.rope_dim;
    case LayerSize::plain:
      return latent.plain_dim;
    case LayerSize::rope:
      return latent.rope_dim;
    case LayerSize::value:
      return latent.value_dim;
    case LayerSize::conv:
      return mixer == Mixer::short_conv         ? 3 * n_embd
             : mixer == Mixer::gated_recurrence ? recurrence.n_columns
             : state_space.exists()             ? state_space.n_convolved()
                                                : delta.n_qkv();
    case LayerSize::inner:
      return mixer == Mixer::time_mix           ? time_mix.n_inner
             : mixer == Mixer::gated_recurrence ? recurrence.n_columns
             : state_space.exists()             ? state_space.n_inner
             : memory.exists()                  ? memory.n_inner()
                                                : delta.n_inner();
    case LayerSize::state:
      return state_space.n_state;
    case LayerSize::steps:
      return state_space.n_steps;
    case LayerSize::value_heads:
      return delta.n_values + memory.n_heads;
    case LayerSize::delta_low:
      return delta.by_channel ? delta.value_dim : 0;
    case LayerSize::decays:
      return delta.n_decays() + memory.n_heads;
    case LayerSize::ff:
      return n_ff;
    case LayerSize::expert_row:
      return n_latent > 0 ? n_latent : n_embd;
    case LayerSize::experts:
      return n_experts;
    case LayerSize::q_norm:
      return qk_norm == QkNorm::heads ? head_dim : n_heads * head_dim;
    case LayerSize::k_norm:
      return qk_norm == QkNorm::heads ? head_dim : n_kv_heads * head_dim;
    case LayerSize::v_norm:
      return value_dim;
    case LayerSize::shared_ff:
      return n_ff_shared;
    case LayerSize::expert_ff:
      return feed_forward == FeedForward::gated_and_experts ? n_ff_expert : n_ff;
    case LayerSize::input:
      return n_input;
    case LayerSize::one:
      return 1;
    default:
      return added_extent(*this, e);
  }
}

int64_t LayerPlan::n_convolved_numbers() const {
  if (n_conv_taps == 0) return 0;
  return (n_conv_taps - 1) * (mixer == Mixer::delta_net          ? delta.n_qkv()
                              : mixer == Mixer::gated_recurrence ? recurrence.n_columns
                              : state_space.exists()             ? state_space.n_convolved()
                                                                 : n_embd);
}

CacheLayout cache_layout(std::span<const LayerPlan> plans) {
  CacheLayout layout;
  for (const LayerPlan& p : plans) {
    KvLayer layer;
    // One step reads all of them; rows of an answer read all of the source.
    layer.window = p.both_ways || p.side == Side::answer ? 0 : p.window;
    if (p.keeps_tokens()) layer.shape = {p.n_kv_heads, p.head_dim, p.value_dim};
    layer.shape.state_bytes =
        (p.n_convolved_numbers() + p.delta.n_state() + p.time_mix.state_numbers(p.n_embd) +
         p.recurrence.n_columns + p.state_space.n_matrix() + p.memory.n_state()) *
        int64_t{sizeof(float)};
    layout.layers.push_back(layer);
  }
  for (const LayerPlan& p : plans) {
    if (p.index.is_own()) layout.layers.push_back({KvShape{1, p.index.head_dim, 0}});
  }
  return layout;
}

int64_t index_layer(std::span<const LayerPlan> plans, int64_t layer) {
  const auto before = plans.first(static_cast<size_t>(layer));
  const auto is_own = [](const LayerPlan& p) { return p.index.is_own(); };
  return std::ssize(plans) + std::ranges::count_if(before, is_own);
}

namespace {

// The layers that have these numbers.
Result<std::vector<LayerPlan>> plan_side_layers(const ModelFile& file, const FamilyRecord& family,
                                                const HParams& h, const RopePlans& rope) {
  const BlockSpec& block = family.block;
  const std::vector<bool> windowed = TRY(windowed_layers(file, block, h.n_layers));
  const std::vector<bool> rotated = TRY(rotated_layers(file, block, h, windowed));
  const std::vector<bool> with_experts = TRY(layers_with_experts(file, h));
  const std::vector<bool> shares_choices = TRY(layers_that_share_choices(file, h));
  const Mixer other = other_mixer(block, h);
  const bool has_both = block.mixers == Mixers::state_and_attention || block.shared_blocks;
  const PositionScale growth = TRY(query_growth(file, family, h.window));
  std::vector<Xielu> xielus;
  if (h.xielu) xielus = TRY(read_xielu(file, h.n_layers));
  std::vector<LayerPlan> layers;
  for (int64_t i = 0; i < h.n_layers; ++i) {
    const int64_t n_kv_heads = h.kv_heads[static_cast<size_t>(i)];
    const bool attends = n_kv_heads > 0;
    const bool is_latent =
        block.mixers == Mixers::latent || (block.mixers == Mixers::delta_or_latent && attends);
    const bool rotates = attends && rotated[static_cast<size_t>(i)];
    const bool grows = attends && (block.growth == Growth::all || !rotates);
    const bool is_windowed = attends && windowed[static_cast<size_t>(i)] && h.window > 0;
    const int64_t window = !is_windowed ? 0 : h.bidirectional ? h.window / 2 + 1 : h.window;
    const bool is_pre = !attends && block.linear_pre_norm;
    const Mixer mixer = is_latent ? Mixer::latent : attends ? Mixer::attention : other;
    layers.push_back(
        {.n_embd = h.n_embd,
         .norm = block.norm,
         .norm_eps = h.norm_eps,
         .norm_place = is_pre ? NormPlace::pre : block.norm_place,
         .attn_norm = i > 0 || block.first_norm,
         .parallel = h.parallel,
         .shared_norm = h.shared_norm,
         .sub_norms = block.sub_norms,
         .sums_twice = h.sums_twice,
         .residual_scale = h.residual_scale * share_of_halved(file, h, i),
         .mixer = mixer,
         .n_conv_taps = attends && !has_both ? 0 : h.n_conv_taps,
         .delta = attends ? DeltaHeads{} : h.delta,
         .linear_norm_eps = block.linear_norm_eps > 0 ? block.linear_norm_eps : h.norm_eps,
         .time_mix = h.time_mix,
         .recurrence = attends ? GatedRecurrencePlan{} : h.recurrence,
         .state_space = attends && !has_both ? StateSpacePlan{} : h.state_space,
         .memory = h.memory,
         .halves = h.halve_every > 0 && (i + 1) % h.halve_every == 0,
         .streams = h.streams,
         .n_heads = attends ? h.heads[static_cast<size_t>(i)] : 0,
         .n_kv_heads = n_kv_heads,
         .head_dim = is_latent ? h.latent.key_dim() : h.head_dim,
         .value_dim = is_latent ? h.latent.kv_rank : h.value_dim,
         .latent = h.latent,
         .attention_scales = h.attention_scales,
         .gates_attention = block.gated_attention,
         .clamp_qkv = h.clamp_qkv,
         .qk_norm =
             h.qk_norm && (rotates || !block.only_rotated_norms) ? block.qk_norm : QkNorm::none,
         .rotates_first = block.rotates_first,
         .rope = rotates ? rope.index_for(window) : -1,
         .window = window,
         .chunked = window > 0 && block.windows_are_chunks,
         .both_ways = h.bidirectional,
         .has_sinks = attends && block.sinks,
         .query_scale = grows ? growth : PositionScale(),
         .attn_scale = h.attn_scale_of(i),
         .attn_softcap = h.attn_softcap});
    if (attends && h.positions == Positions::alibi) {
      layers.back().alibi_slopes = alibi_slopes(layers.back().n_heads, h.max_alibi_bias);
      layers.back().alibi_in_bf16 = block.alibi_in_bf16;
    }
    if (is_latent) plan_index(layers.back(), h, shares_choices[static_cast<size_t>(i)]);
    if (h.xielu) layers.back().xielu = xielus[static_cast<size_t>(i)];
    plan_feed_forward(layers.back(), family, h, i, with_experts[static_cast<size_t>(i)]);
    plan_side(layers.back(), block, h, i);
    if (block.unlike_layers) plan_unlike(layers.back(), block, h, i);
    if (block.streams) plan_gate_cut(layers.back(), h, i);
    if (block.shared_blocks) plan_shared_block(layers, h);
    if (block.one_half) keep_one_half(layers.back(), h.ff_widths[static_cast<size_t>(i)]);
  }
  TRY(plan_sharing_layers(file, h, windowed, layers));
  return layers;
}

// The encoder's layers before the decoder's, each planned by the numbers of its side. Encoders with
// other heads than the decoder's use slots of their own, which their first layer keeps.
Result<std::vector<LayerPlan>> plan_unlike_sides(const ModelFile& file, const FamilyRecord& family,
                                                 const HParams& h, const RopePlans& rope) {
  HParams decoder = h;
  decoder.n_layers -= h.n_encoder_layers;
  decoder.n_encoder_layers = 0;
  std::vector<LayerPlan> answer = TRY(plan_side_layers(file, family, decoder, rope.of_side(false)));
  const EncoderNumbers numbers(file);
  std::vector<LayerPlan> plans =
      TRY(plan_side_layers(numbers, family, *h.encoder, rope.of_side(true)));
  const bool are_alike = plans.front().n_kv_heads == answer.front().n_kv_heads &&
                         plans.front().head_dim == answer.front().head_dim;
  plans.insert(plans.end(), answer.begin(), answer.end());
  for (int64_t i = 0; i < h.n_layers; ++i) {
    LayerPlan& plan = plans[static_cast<size_t>(i)];
    plan_side(plan, family.block, h, i);
    if (plan.side == Side::answer) {
      plan.rope += plan.rope < 0 ? 0 : rope.n_of_source;
    } else if (!are_alike) {
      plan.kv_layer = i == 0 ? -1 : 0;
      plan.borrows_slots = i > 0;
    }
  }
  return plans;
}

}  // namespace

Result<std::vector<LayerPlan>> plan_layers(const ModelFile& file, const FamilyRecord& family,
                                           const HParams& h, const RopePlans& rope) {
  if (h.encoder != nullptr) return plan_unlike_sides(file, family, h, rope);
  std::vector<LayerPlan> layers = TRY(plan_side_layers(file, family, h, rope));
  if (family.block.repeats_layers) TRY(plan_groups(file, layers));
  return layers;
}

}  // namespace ruv
