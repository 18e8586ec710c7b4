// A number is the file's; where the file is silent the family's record decides, then the usual
// value.
#include "model/hparams.h"

#include <algorithm>
#include <cmath>

#include "device/kv_pages.h"
#include "device/ops.h"
#include "family/word_list.h"
#include "format/rope_scaling.h"
#include "format/tensor_names.h"
#include "model/encoder_numbers.h"
#include "tensor/half.h"

namespace ruv {
namespace {

// Bounds far above any real model, so that products of two or three of them fit 64 bits.
constexpr int64_t kMaxDimension = int64_t{1} << 24;

Result<int64_t> dimension_or(const ModelFile& file, std::string_view key, int64_t absent) {
  if (file.find(key) == nullptr) return absent;
  return read_dimension(file, key);
}

struct NamedAct {
  std::string_view name;
  Act act;
};
constexpr NamedAct kNamedActs[] = {
    {"silu", Act::silu},
    {"swish", Act::silu},
    {"gelu", Act::gelu},
    {"gelu_python", Act::gelu},
    {"gelu_pytorch_tanh", Act::gelu_tanh},
    {"gelu_new", Act::gelu_tanh},
    {"gelu_fast", Act::gelu_tanh},
    {"gelu_python_tanh", Act::gelu_tanh},
    {"gelu_accurate", Act::gelu_tanh},
    {"quick_gelu", Act::quick_gelu},
    {"relu", Act::relu},
    {"relu2", Act::relu2},
};

// The activation that config.json names; other GGUF files than ours name none.
Result<Act> read_activation(const ModelFile& file, std::string_view key, Act absent) {
  if (file.find(key) == nullptr) return absent;
  const std::string name = TRY(file.text(key));
  const auto* const found = std::ranges::find(kNamedActs, name, &NamedAct::name);
  if (found != std::end(kNamedActs)) return found->act;
  return fail(Code::unsupported,
              "{}: '{}' is '{}'; silu, gelu and its approximations, relu and relu2 are supported",
              file.path(), file.shown_key(key), quoted_name(name));
}

// Those of the feed-forward and of a convolution.
Status read_activations(const ModelFile& file, const BlockSpec& block, HParams& h) {
  constexpr std::string_view kKey = "hidden_act";
  h.xielu = block.xielu && (file.find(kKey) == nullptr || TRY(file.text(kKey)) == "xielu");
  h.gates = block.gated;
  if (block.gate_optional) {
    const bool has = file.find_tensor("enc.blk.0.ffn_gate.weight") != nullptr;
    h.gates = TRY(truth_or(file, "feed_forward_gated", has));
  }
  // Where either is possible, those without gates are the older ones.
  const Act usual = block.gate_optional && !h.gates ? Act::relu : block.act;
  if (!h.xielu) h.act = TRY(read_activation(file, kKey, usual));
  h.scan_act = TRY(read_activation(file, "ssm.hidden_act", Act::silu));
  h.output_dense_act = TRY(read_activation(file, "output_dense_act", Act::gelu));
  return {};
}

// A number that float32 has.
Result<float> finite_or(const ModelFile& file, std::string_view key, double absent) {
  const auto number = static_cast<float>(TRY(file.number_or(key, absent)));
  if (std::isfinite(number)) return number;
  return fail(Code::corrupt, "{}: '{}' is not a finite number", file.path(), file.shown_key(key));
}

Result<float> attention_scale(const ModelFile& file, int64_t head_dim, float usual) {
  const float by_size = 1.0F / std::sqrt(static_cast<float>(head_dim));
  const float scalar = TRY(finite_or(file, "attention.query_pre_attn_scalar", 0));
  const bool is_usual = file.container() == "gguf" && usual > 0;
  const float otherwise = scalar > 0 ? 1.0F / std::sqrt(scalar) : is_usual ? usual : by_size;
  return finite_or(file, "attention.scale", double{otherwise});
}

// What the files multiply by; 0 in GGUF files means 1.
Result<float> scale_or(const ModelFile& file, std::string_view key, float absent) {
  const float scale = TRY(finite_or(file, key, double{absent}));
  return scale == 0 ? absent : scale;
}

Status read_scales(const ModelFile& file, const FamilyRecord& family, HParams& h) {
  const bool is_root = family.embed_scale != EmbedScale::none;
  float root = std::sqrt(static_cast<float>(h.n_embd));
  if (family.embed_scale == EmbedScale::sqrt_dim_bf16) root = f32_from_bf16(bf16_from_f32(root));
  const float usual_embed = family.usual_embed_scale > 0 ? family.usual_embed_scale : 1.0F;
  const float usual_depth = family.usual_depth_scale / std::sqrt(static_cast<float>(h.n_layers));
  const float by_width = family.usual_logit_width / static_cast<float>(h.n_embd);
  const float usual_logits = family.divides_logits && by_width > 0 ? 1.0F / by_width : by_width;
  h.embed_scale = TRY(scale_or(file, "embedding_scale", is_root ? root : usual_embed));
  h.residual_scale = TRY(scale_or(file, "residual_scale", usual_depth > 0 ? usual_depth : 1));
  const bool is_tied = family.divides_tied_logits && file.find_tensor("output.weight") == nullptr;
  const float of_tied = 1.0F / std::sqrt(static_cast<float>(h.n_embd));
  const float otherwise = is_tied ? of_tied : usual_logits > 0 ? usual_logits : 1.0F;
  const float logits = TRY(scale_or(file, "logit_scale", otherwise));
  h.logit_scale = family.divides_logits ? 1.0F / logits : logits;
  h.clamp_qkv = TRY(finite_or(file, "attention.clamp_kqv", 0));
  if (h.clamp_qkv < 0) {
    return fail(Code::corrupt, "{}: '{}' is below 0", file.path(),
                file.shown_key("attention.clamp_kqv"));
  }
  return {};
}

// 0: none.
Result<float> softcap(const ModelFile& file, std::string_view key, float absent) {
  const float cap = TRY(finite_or(file, key, double{absent}));
  if (cap < 0) {
    return fail(Code::corrupt, "{}: '{}' is below 0", file.path(), file.shown_key(key));
  }
  return cap;
}

// Where both halves of a block share one norm, GGUF files with a second one mean that the halves
// follow each other, whatever their key says.
Result<bool> read_parallel(const ModelFile& file, const BlockSpec& block) {
  const bool parallel = TRY(truth_or(file, "use_parallel_residual", block.parallel));
  const bool has_second = block.shared_norm && file.container() == "gguf" &&
                          file.find_tensor("blk.0.ffn_norm.weight") != nullptr;
  return parallel && !has_second;
}

// A family that may have either has ALiBi where the file states its largest bias.
Status read_positions(const ModelFile& file, const FamilyRecord& family, HParams& h) {
  constexpr std::string_view kBias = "attention.max_alibi_bias";
  h.positions = family.block.positions;
  constexpr std::string_view kRotates = "rope.scaling.finetuned";
  if (is_word_of(family.gguf_keys, kRotates) && !TRY(truth_or(file, kRotates, true))) {
    h.positions = Positions::none;
  }
  if (family.block.positions_optional) {
    const bool has = file.find_tensor("position_embd.weight") != nullptr;
    if (!TRY(truth_or(file, "learned_positions", has))) h.positions = Positions::none;
  }
  const bool usual = h.positions == Positions::alibi || h.n_layers == family.alibi_depth;
  if (!usual && !is_word_of(family.gguf_keys, kBias)) return {};
  h.max_alibi_bias = TRY(finite_or(file, kBias, usual ? 8 : 0));
  if (h.max_alibi_bias < 0) {
    return fail(Code::corrupt, "{}: '{}' is below 0", file.path(), file.shown_key(kBias));
  }
  if (h.max_alibi_bias > 0) {
    h.positions = Positions::alibi;
  } else if (usual) {
    h.positions = Positions::none;
  }
  return {};
}

// What only encoders have, and where learned positions begin.
Status read_encoder(const ModelFile& file, const BlockSpec& block, HParams& h) {
  constexpr std::string_view kCausal = "attention.causal", kOffset = "position_offset";
  constexpr std::string_view kUnplaced = "unplaced_token";
  h.bidirectional = block.bidirectional;
  h.encodes = block.bidirectional || TRY(truth_or(file, "without_output", false));
  if (block.bidirectional && TRY(truth_or(file, kCausal, false))) {
    return fail(Code::unsupported, "{}: '{}' is true, and the family has encoders only",
                file.path(), file.shown_key(kCausal));
  }
  h.sums_twice = block.may_sum_twice && file.find_tensor("blk.0.attn_norm_2.weight") != nullptr;
  h.position_offset = block.position_offset;
  if (file.find(kOffset) != nullptr) h.position_offset = TRY(read_dimension(file, kOffset));
  if (file.find(kUnplaced) != nullptr) {
    h.unplaced_token = TRY(file.integer(kUnplaced));
    if (h.unplaced_token < 0) {
      return fail(Code::corrupt, "{}: '{}' is below 0", file.path(), file.shown_key(kUnplaced));
    }
  }
  h.n_embd_in = TRY(dimension_or(file, "embedding_length_in", h.n_embd));
  if (h.n_embd_in <= h.n_embd) return {};
  return fail(Code::unsupported, "{}: '{}' {} is above '{}' {}", file.path(),
              file.shown_key("embedding_length_in"), h.n_embd_in,
              file.shown_key("embedding_length"), h.n_embd);
}

// The numbers of a model that is its table of embeddings.
Result<HParams> read_table_numbers(const ModelFile& file) {
  HParams h;
  h.n_embd = h.n_embd_in = TRY(read_dimension(file, "embedding_length"));
  h.n_ctx_train = TRY(read_dimension(file, "context_length"));
  h.positions = Positions::none;
  h.encodes = true;
  return h;
}

// Which groups of experts may be chosen. One group is all of them.
Status read_expert_groups(const ModelFile& file, HParams& h) {
  constexpr std::string_view kGroups = "expert_group_count", kUsed = "expert_group_used_count";
  RouteParams& route = h.route;
  if (file.find(kGroups) == nullptr || TRY(file.integer(kGroups)) == 0) return {};
  route.n_groups = TRY(read_dimension(file, kGroups));
  route.n_groups_used = TRY(dimension_or(file, kUsed, 1));
  if (h.n_experts % route.n_groups != 0) {
    return fail(Code::corrupt, "{}: '{}' {} does not divide the {} experts", file.path(),
                file.shown_key(kGroups), route.n_groups, h.n_experts);
  }
  if (route.n_groups_used > route.n_groups) {
    return fail(Code::corrupt, "{}: '{}' {} is above '{}' {}", file.path(), file.shown_key(kUsed),
                route.n_groups_used, file.shown_key(kGroups), route.n_groups);
  }
  if (h.n_experts / route.n_groups * route.n_groups_used < h.n_experts_used) {
    return fail(Code::corrupt, "{}: '{}' = {}: the groups that are used have fewer than {} experts",
                file.path(), file.shown_key(kUsed), route.n_groups_used, h.n_experts_used);
  }
  return {};
}

// expert_gating_func: 0, or nothing, is the family's own; 1 softmax, 2 sigmoid, 3 the softmax of
// the chosen numbers only, which is that of all, normalised.
Status read_router(const ModelFile& file, const ExpertSpec& spec, HParams& h) {
  constexpr std::string_view kScore = "expert_gating_func";
  RouteParams& route = h.route;
  route = {.score = spec.score,
           .group_rank = spec.group_rank,
           .normalises = TRY(truth_or(file, "expert_weights_norm", spec.normalises)),
           .sum_added = spec.sum_added,
           .sum_least = TRY(finite_or(file, "expert_weights_least_sum", double{spec.sum_least})),
           .scale = TRY(scale_or(file, "expert_weights_scale", 1)),
           .closeness = TRY(finite_or(file, "expert_closeness", double{spec.closeness}))};
  const int64_t score = file.find(kScore) == nullptr ? 0 : TRY(file.integer(kScore));
  if (score < 0 || score > 3) {
    return fail(Code::unsupported, "{}: '{}' = {}; 1 (softmax), 2 (sigmoid) and 3 are supported",
                file.path(), file.shown_key(kScore), score);
  }
  if (score == 2) route.score = RouterScore::sigmoid;
  if ((score == 1 && route.score == RouterScore::sigmoid) || score == 3) {
    route.score = RouterScore::softmax;
  }
  if (score == 3) route.normalises = true;
  if (spec.ranks_by_best && route.score == RouterScore::softmax) route.group_rank = GroupRank::best;
  if (route.score == RouterScore::sparsemixer && h.n_experts_used > 2) {
    return fail(Code::unsupported, "{}: '{}' = {}: this router chooses 2 experts", file.path(),
                file.shown_key("expert_used_count"), h.n_experts_used);
  }
  h.gate_limits = {.limit = TRY(finite_or(file, "expert_gate_limit", double{spec.gate_limit})),
                   .up_shift = spec.up_shift};
  return read_expert_groups(file, h);
}

// Where a file says how many shared experts there are and not how wide, they are as wide as others.
Status read_shared_experts(const ModelFile& file, const ExpertSpec& spec, HParams& h) {
  constexpr std::string_view kWidth = "expert_shared_feed_forward_length",
                             kCount = "expert_shared_count";
  const bool is_said = file.find(kWidth) != nullptr || file.find(kCount) != nullptr;
  if (spec.always_shared && !is_said) h.n_ff_shared = h.n_ff_expert;
  if (file.find(kWidth) != nullptr && TRY(file.integer(kWidth)) != 0) {
    h.n_ff_shared = TRY(read_dimension(file, kWidth));
    return {};
  }
  if (file.find(kWidth) != nullptr || file.find(kCount) == nullptr ||
      TRY(file.integer(kCount)) == 0) {
    return {};
  }
  const int64_t count = TRY(read_dimension(file, kCount));
  if (count > kMaxDimension / h.n_ff_expert) {
    return fail(Code::corrupt, "{}: '{}' = {} is out of range", file.path(), file.shown_key(kCount),
                count);
  }
  h.n_ff_shared = count * h.n_ff_expert;
  return {};
}

Status read_experts(const ModelFile& file, const FamilyRecord& family, HParams& h) {
  constexpr std::string_view kCount = "expert_count", kUsed = "expert_used_count";
  if (file.find(kCount) == nullptr || TRY(file.integer(kCount)) == 0) return {};
  if (!family.experts.computed) {
    return fail(Code::unsupported,
                "{}: '{}': mixtures of experts are not supported in this family; use a dense model",
                file.path(), file.shown_key(kCount));
  }
  h.n_experts = TRY(read_dimension(file, kCount));
  h.n_experts_used = TRY(read_dimension(file, kUsed));
  if (h.n_experts > kMaxExperts) {
    return fail(Code::unsupported, "{}: '{}' = {} is above {}", file.path(), file.shown_key(kCount),
                h.n_experts, kMaxExperts);
  }
  if (h.n_experts_used > h.n_experts) {
    return fail(Code::corrupt, "{}: '{}' {} is above '{}' {}", file.path(), file.shown_key(kUsed),
                h.n_experts_used, file.shown_key(kCount), h.n_experts);
  }
  h.n_ff_expert = TRY(dimension_or(file, "expert_feed_forward_length", h.n_ff));
  constexpr std::string_view kLatent = "moe_latent_size";
  const bool has_latent = file.find(kLatent) != nullptr && TRY(file.integer(kLatent)) != 0;
  if (has_latent) h.n_latent = TRY(read_dimension(file, kLatent));
  TRY(read_router(file, family.experts, h));
  TRY(read_shared_experts(file, family.experts, h));
  const bool averages = TRY(truth_or(file, "expert_shared_average", false));
  h.averages_shared = averages && h.n_ff_shared > 0;
  return {};
}

// One number for all layers, or an array with one for each.
Result<std::vector<int64_t>> read_widths(const ModelFile& file, std::string_view key,
                                         int64_t n_layers, int64_t least) {
  std::vector<int64_t> widths = TRY(file.integers(key));
  if (widths.size() == 1) widths.resize(static_cast<size_t>(n_layers), widths[0]);
  if (std::ssize(widths) != n_layers) {
    return fail(Code::corrupt, "{}: '{}' has {} numbers for {} layers", file.path(),
                file.shown_key(key), widths.size(), n_layers);
  }
  for (const int64_t n : widths) {
    if (n >= least && n <= kMaxDimension) continue;
    return fail(Code::corrupt, "{}: '{}' = {} is out of range [{}, {}]", file.path(),
                file.shown_key(key), n, least, kMaxDimension);
  }
  return widths;
}

// The heads of each layer: one number for all or an array.
Status read_query_heads(const ModelFile& file, const BlockSpec& block, HParams& h) {
  constexpr std::string_view kKey = "attention.head_count";
  if (!block.widths_by_layer) {
    h.n_heads = TRY(read_dimension(file, kKey));
    h.heads.assign(static_cast<size_t>(h.n_layers), h.n_heads);
    return {};
  }
  h.heads = TRY(read_widths(file, kKey, h.n_layers, 1));
  h.n_heads = std::ranges::max(h.heads);
  return {};
}

// The key heads of each layer: one number for all, or an array of one for each. Layers that have
// any have equally many.
Status read_kv_heads(const ModelFile& file, const BlockSpec& block, HParams& h) {
  constexpr std::string_view kKey = "attention.head_count_kv";
  std::vector<int64_t> counts = {h.n_heads};
  if (block.widths_by_layer) counts = h.heads;
  if (file.find(kKey) != nullptr) counts = TRY(file.integers(kKey));
  if (counts.size() == 1) {
    counts.resize(static_cast<size_t>(h.n_layers), counts[0]);
    if (block.mixers == Mixers::delta_net) {
      const int64_t interval = TRY(dimension_or(file, "full_attention_interval", 4));
      for (int64_t i = 0; i < h.n_layers; ++i) {
        if ((i + 1) % interval != 0) counts[static_cast<size_t>(i)] = 0;
      }
    }
  }
  if (std::ssize(counts) == h.n_layers + h.n_ahead) {
    counts.resize(static_cast<size_t>(h.n_layers));
  }
  if (std::ssize(counts) != h.n_layers) {
    return fail(Code::corrupt, "{}: '{}' has {} numbers for {} layers", file.path(),
                file.shown_key(kKey), counts.size(), h.n_layers);
  }
  const int64_t most = std::ranges::max(counts);
  for (const int64_t n : counts) {
    const bool attends_not =
        n == 0 && block.mixers != Mixers::attention && block.mixers != Mixers::state_and_attention;
    if (n < 0 || n > kMaxDimension || (n == 0 && !attends_not)) {
      return fail(Code::corrupt, "{}: '{}' = {} is out of range [1, {}]", file.path(),
                  file.shown_key(kKey), n, kMaxDimension);
    }
    if (n != most && !attends_not && !block.unlike_layers && !block.widths_by_layer) {
      return fail(Code::unsupported, "{}: '{}': layers with {} and {} key heads in one model",
                  file.path(), file.shown_key(kKey), n, most);
    }
  }
  h.kv_heads = std::move(counts);
  h.n_kv_heads = most > 0 ? most : h.n_heads;
  return {};
}

// A running state has its size in bytes, with room in 64 bits for thousands of them.
Status read_convolutions(const ModelFile& file, std::string_view key, HParams& h) {
  constexpr int64_t kMaxTaps = 1024;
  h.n_conv_taps = TRY(read_dimension(file, key));
  if (h.n_conv_taps <= kMaxTaps) return {};
  return fail(Code::corrupt, "{}: '{}' = {} is above {}", file.path(), file.shown_key(key),
              h.n_conv_taps, kMaxTaps);
}

// Latent attention keeps one key head. Files that name widths of their own for it (_mla) give
// those of what is kept under the usual keys.
Status read_latent(const ModelFile& file, HParams& h) {
  constexpr std::string_view kRope = "rope.dimension_count", kRank = "attention.kv_lora_rank";
  const auto named = [&](std::string_view own, std::string_view usual) {
    return file.find(own) != nullptr ? own : usual;
  };
  const std::string_view key = named("attention.key_length_mla", "attention.key_length");
  const std::string_view value = named("attention.value_length_mla", "attention.value_length");
  LatentPlan& latent = h.latent;
  latent.q_rank = TRY(dimension_or(file, "attention.q_lora_rank", 0));
  latent.kv_rank = TRY(read_dimension(file, kRank));
  latent.rope_dim = TRY(read_dimension(file, kRope));
  latent.plain_dim = TRY(read_dimension(file, key)) - latent.rope_dim;
  latent.value_dim = TRY(dimension_or(file, value, h.n_embd / h.n_heads));
  h.head_dim = latent.query_dim();
  h.value_dim = latent.value_dim;
  h.n_kv_heads = 1;
  h.kv_heads.resize(static_cast<size_t>(h.n_layers), 1);  // where all layers have it
  for (int64_t& n : h.kv_heads) n = std::min<int64_t>(n, 1);
  if (latent.plain_dim < 1) {
    return fail(Code::corrupt, "{}: '{}' is not above '{}' {}", file.path(), file.shown_key(key),
                file.shown_key(kRope), latent.rope_dim);
  }
  if (latent.key_dim() > kMaxHeadDim) {
    return fail(Code::unsupported,
                "{}: '{}' {} with {} rotated numbers: rows of latent attention "
                "may have {}",
                file.path(), file.shown_key(kRank), latent.kv_rank, latent.rope_dim, kMaxHeadDim);
  }
  return {};
}

// An index beside latent attention. Its queries are made of the short row that the others are made
// of, and rotated as far as they are.
Status read_index(const ModelFile& file, Indexer kind, HParams& h) {
  constexpr std::string_view kWidth = "attention.indexer.key_length";
  constexpr std::string_view kChosen = "attention.indexer.top_k";
  IndexPlan& index = h.index;
  index.n_heads = TRY(read_dimension(file, "attention.indexer.head_count"));
  index.head_dim = TRY(read_dimension(file, kWidth));
  index.n_chosen = TRY(read_dimension(file, kChosen));
  index.neighbours = kind == Indexer::neighbours;
  if (h.latent.q_rank == 0) {
    return fail(Code::unsupported, "{}: '{}' is missing: indexes need it", file.path(),
                file.shown_key("attention.q_lora_rank"));
  }
  if (index.head_dim < h.latent.rope_dim || index.head_dim > kMaxHeadDim) {
    return fail(Code::unsupported, "{}: '{}' {} is not from {}, what is rotated, to {}",
                file.path(), file.shown_key(kWidth), index.head_dim, h.latent.rope_dim,
                kMaxHeadDim);
  }
  constexpr std::string_view kContext = "context_length";
  if (const int64_t n = TRY(read_dimension(file, kContext)); n > kMaxChoicePosition) {
    return fail(Code::unsupported, "{}: '{}' {} is above {}, what indexes count to", file.path(),
                file.shown_key(kContext), n, kMaxChoicePosition);
  }
  if (index.n_chosen > kMostChosen || index.n_heads > kMaxHeadDim) {
    return fail(Code::unsupported, "{}: '{}' {} is above {}, or its heads, {}, above {}",
                file.path(), file.shown_key(kChosen), index.n_chosen, kMostChosen, index.n_heads,
                kMaxHeadDim);
  }
  return {};
}

// Positions scaled by YaRN make scores of latent attention larger, by the square of its magnitude.
// Files of llama.cpp say a tenth of the factor before the logarithm (mscale_all_dim).
Status scale_latent_scores(const ModelFile& file, HParams& h) {
  constexpr std::string_view kKey = "rope.scaling.yarn_log_multiplier";
  const double multiplier = TRY(file.number_or(kKey, 0));
  if (multiplier == 0 || file.find("attention.scale") != nullptr) return {};
  const bool has_type = file.find("rope.scaling.type") != nullptr;
  if (!has_type || TRY(file.text("rope.scaling.type")) != "yarn") {
    return fail(Code::unsupported, "{}: '{}' is supported with yarn only", file.path(),
                file.shown_key(kKey));
  }
  const double growth = yarn_magnitude(TRY(file.number("rope.scaling.factor")), 10 * multiplier);
  h.attn_scale *= static_cast<float>(growth * growth);
  if (std::isfinite(h.attn_scale)) return {};
  return fail(Code::corrupt, "{}: '{}' is out of range", file.path(), file.shown_key(kKey));
}

Status check_heads(const ModelFile& file, const HParams& h) {
  if (h.n_heads == 0) return {};
  for (size_t i = 0; i < h.kv_heads.size(); ++i) {
    const int64_t n = h.kv_heads[i] > 0 ? h.kv_heads[i] : h.n_kv_heads;
    if (h.heads[i] % n == 0) continue;
    return fail(Code::corrupt, "{}: '{}' {} is not a multiple of '{}' {}", file.path(),
                file.shown_key("attention.head_count"), h.heads[i],
                file.shown_key("attention.head_count_kv"), n);
  }
  const int64_t widest = std::max({h.head_dim, h.value_dim, h.local_head_dim});
  if (widest > kMaxHeadDim || h.n_heads > 4096) {
    return fail(Code::corrupt, "{}: {} layers of {} heads of {} numbers are out of range",
                file.path(), h.n_layers, h.n_heads, widest);
  }
  return {};
}

// Layers may have different ones where they are unlike each other or halves of a block; 0: it has
// something else.
Status read_ff_widths(const ModelFile& file, const BlockSpec& block, HParams& h) {
  h.ff_widths = TRY(read_widths(file, "feed_forward_length", h.n_layers, block.one_half ? 0 : 1));
  h.n_ff = std::ranges::max(h.ff_widths);
  return {};
}

Status read_feed_forwards(const ModelFile& file, const BlockSpec& block, HParams& h) {
  const bool by_layer = block.one_half || block.unlike_layers || block.widths_by_layer;
  if (by_layer) return read_ff_widths(file, block, h);
  if (block.mixers == Mixers::state_space) return {};
  h.n_ff = TRY(read_dimension(file, "feed_forward_length"));
  return {};
}

Status read_scans(const ModelFile& file, const FamilyRecord& family, HParams& h) {
  h.state_space = TRY(read_state_space(file, family));
  if (h.state_space.exists()) {
    TRY(read_convolutions(file, "ssm.conv_kernel", h));
    h.attention_scales = TRY(read_two_scales(file, "attention.scales"));
    h.ff_scales = TRY(read_two_scales(file, "feed_forward.scales"));
  }
  return {};
}

// What layers of a model that are unlike each other have (HParams::local_head_dim and after).
Status read_unlike_layers(const ModelFile& file, const BlockSpec& block, HParams& h) {
  constexpr std::string_view kKeyDim = "attention.key_length_swa";
  constexpr std::string_view kValueDim = "attention.value_length_swa";
  constexpr std::string_view kSharing = "attention.shared_kv_layers";
  constexpr std::string_view kInput = "embedding_length_per_layer_input";
  constexpr std::string_view kSame = "attention.values_are_keys";
  h.local_head_dim = h.head_dim;
  h.values_are_keys.assign(static_cast<size_t>(h.n_layers), false);
  if (!block.unlike_layers) return {};
  h.local_head_dim = TRY(dimension_or(file, kKeyDim, h.head_dim));
  const int64_t values = TRY(dimension_or(file, kValueDim, h.local_head_dim));
  if (values != h.local_head_dim || h.value_dim != h.head_dim) {
    return fail(Code::unsupported, "{}: '{}': keys and values of heads differ in size", file.path(),
                file.shown_key(kValueDim));
  }
  if (file.find(kSharing) != nullptr || block.streams)
    h.n_sharing_layers = TRY(file.integer(kSharing));
  if (h.n_sharing_layers < 0 || h.n_sharing_layers >= h.n_layers) {
    return fail(Code::corrupt, "{}: '{}' = {} of {} layers", file.path(), file.shown_key(kSharing),
                h.n_sharing_layers, h.n_layers);
  }
  if (file.find(kInput) != nullptr && TRY(file.integer(kInput)) != 0) {
    h.n_layer_input = TRY(read_dimension(file, kInput));
  }
  const bool is_said = file.find(kSame) != nullptr;
  const bool said = TRY(truth_or(file, kSame, false));
  for (int64_t i = 0; i < h.n_layers; ++i) {
    // A GGUF file has the values' matrix or not.
    h.values_are_keys[static_cast<size_t>(i)] =
        is_said
            ? said
            : !block.streams && file.find_tensor(fmt::format("blk.{}.attn_v.weight", i)) == nullptr;
  }
  return {};
}

// Blocks that layers with attention share, and the ranks that each use has of its own.
Status read_shared_blocks(const ModelFile& file, HParams& h) {
  constexpr std::string_view kAttention = "shared_block.attention_rank";
  constexpr std::string_view kFf = "shared_block.feed_forward_rank";
  h.n_shared_blocks = TRY(read_dimension(file, "shared_block.count"));
  h.shared.attn_rank = TRY(dimension_or(file, kAttention, 0));
  h.shared.ff_rank = TRY(dimension_or(file, kFf, 0));
  return {};
}

// Files count layers that predict tokens further ahead; they come last.
Status read_layers(const ModelFile& file, const FamilyRecord& family, HParams& h) {
  constexpr std::string_view kAhead = "nextn_predict_layers";
  const int64_t n = TRY(read_dimension(file, "block_count"));
  if (n > 4096) return fail(Code::corrupt, "{}: {} layers are out of range", file.path(), n);
  if (file.find(kAhead) != nullptr && may_predict_ahead(family)) {
    h.n_ahead = TRY(file.integer(kAhead));
  }
  h.n_layers = n - h.n_ahead;
  if (h.n_ahead >= 0 && h.n_ahead < n) return {};
  return fail(Code::corrupt, "{}: '{}' = {} of {} layers", file.path(), file.shown_key(kAhead),
              h.n_ahead, n);
}

// The token that answers begin after.
Status read_start(const ModelFile& file, HParams& h) {
  constexpr std::string_view kStart = "decoder_start_token_id";
  const int64_t start = TRY(file.integer(kStart));
  if (start < 0 || start > INT32_MAX) {
    return fail(Code::corrupt, "{}: '{}' = {} is not a token", file.path(), file.shown_key(kStart),
                start);
  }
  h.start_token = static_cast<int32_t>(start);
  return {};
}

// How many layers the decoder has beside the encoder's, and what its answers begin after.
Status read_sides(const ModelFile& file, const FamilyRecord& family, HParams& h) {
  if (!family.block.reads_source || family.block.unlike_sides) return {};
  h.n_encoder_layers = h.n_layers;
  const int64_t n = TRY(dimension_or(file, "decoder_block_count", h.n_layers));
  if (n > 4096) return fail(Code::corrupt, "{}: {} layers are out of range", file.path(), n);
  h.n_layers += n;
  h.answer_relative = TRY(read_relative(file, family, true));
  return read_start(file, h);
}

// Whether layers may have heads of queries.
bool may_attend(Mixers mixers) {
  return mixers != Mixers::time_mix && mixers != Mixers::state_space &&
         mixers != Mixers::matrix_memory;
}

// Which of the two keys a file has follows the name that its converter found in the config, not the
// kind of norm: Nemotron-H's RMS norms and PhiMoE's layer norms have the other.
std::string_view norm_eps_key(const ModelFile& file, Norm norm) {
  std::string_view usual = "attention.layer_norm_rms_epsilon";
  std::string_view other = "attention.layer_norm_epsilon";
  if (norm != Norm::rms) std::swap(usual, other);
  return file.find(usual) == nullptr && file.find(other) != nullptr ? other : usual;
}

}  // namespace

Result<int64_t> read_dimension(const ModelFile& file, std::string_view key) {
  const int64_t value = TRY(file.integer(key));
  if (value < 1 || value > kMaxDimension) {
    return fail(Code::corrupt, "{}: '{}' = {} is out of range [1, {}]", file.path(),
                file.shown_key(key), value, kMaxDimension);
  }
  return value;
}

Result<bool> truth_or(const ModelFile& file, std::string_view key, bool absent) {
  const MetaValue* const value = file.find(key);
  if (value == nullptr) return absent;
  if (const bool* const truth = std::get_if<bool>(value)) return *truth;
  return fail(Code::corrupt, "{}: '{}' is not a truth value", file.path(), file.shown_key(key));
}

namespace {

// Those of one side where the sides are unlike, else those of the model.
Result<HParams> read_side_numbers(const ModelFile& file, const FamilyRecord& family) {
  HParams h;
  TRY(read_activations(file, family.block, h));
  TRY(read_layers(file, family, h));
  TRY(read_sides(file, family, h));
  h.n_embd = TRY(read_dimension(file, "embedding_length"));
  TRY(read_feed_forwards(file, family.block, h));
  TRY(read_experts(file, family, h));
  h.memory = TRY(read_matrix_memory(file, family));
  const bool has_heads = may_attend(family.block.mixers);
  if (has_heads) TRY(read_query_heads(file, family.block, h));
  const bool is_latent = family.block.mixers == Mixers::latent;
  const bool is_mixed = family.block.mixers == Mixers::delta_or_latent;
  if (!is_latent) TRY(read_kv_heads(file, family.block, h));
  if (family.block.mixers == Mixers::short_conv) {
    TRY(read_convolutions(file, "shortconv.l_cache", h));
  }
  if (family.block.mixers == Mixers::delta_net || is_mixed) {
    TRY(read_convolutions(file, "ssm.conv_kernel", h));
    h.delta = TRY(read_delta_heads(file));
  }
  h.recurrence = TRY(read_gated_recurrence(file, family));
  if (h.recurrence.exists()) TRY(read_convolutions(file, "recurrence.conv_kernel", h));
  TRY(read_scans(file, family, h));
  if (has_heads) {
    h.head_dim = TRY(dimension_or(file, "attention.key_length", h.n_embd / h.n_heads));
    h.value_dim = TRY(dimension_or(file, "attention.value_length", h.head_dim));
  }
  if (is_latent || is_mixed) TRY(read_latent(file, h));
  if (family.block.indexer != Indexer::none) TRY(read_index(file, family.block.indexer, h));
  TRY(read_unlike_layers(file, family.block, h));
  h.streams = TRY(read_streams(file, family));
  if (h.streams.exists()) h.gate_cuts = TRY(read_gate_cuts(file, h.n_layers));
  if (family.block.shared_blocks) TRY(read_shared_blocks(file, h));
  h.time_mix = TRY(read_time_mix(file, family, h.n_embd));
  if (file.find("rescale_every_n_layers") != nullptr) {
    h.halve_every = std::max<int64_t>(0, TRY(file.integer("rescale_every_n_layers")));
  }
  TRY(check_heads(file, h));
  h.n_ctx_train = TRY(read_dimension(file, "context_length"));
  TRY(read_positions(file, family, h));
  TRY(read_encoder(file, family.block, h));
  h.relative = TRY(read_relative(file, family, false));
  h.ends_with_context = h.positions == Positions::learned ||
                        TRY(truth_or(file, "rope.scaling.ends_with_context", false));
  const std::string_view eps = norm_eps_key(file, family.block.norm);
  h.norm_eps = static_cast<float>(TRY(file.number(eps)));
  if (!std::isfinite(h.norm_eps) || h.norm_eps < 0) {
    return fail(Code::corrupt, "{}: '{}' is not a number from 0", file.path(), file.shown_key(eps));
  }
  if (has_heads) {
    h.attn_scale = TRY(attention_scale(file, h.head_dim, family.usual_attn_scale));
    h.attn_scale *= TRY(finite_or(file, "attention.key_scale", 1));
  }
  if (is_latent || is_mixed) TRY(scale_latent_scores(file, h));
  h.scale_by_inverse_layer = TRY(truth_or(file, "attention.scale_by_inverse_layer_idx", false));
  h.attn_softcap = TRY(softcap(file, "attn_logit_softcapping", family.attn_softcap.otherwise));
  h.final_softcap = TRY(softcap(file, "final_logit_softcapping", family.final_softcap.otherwise));
  if (file.find("attention.sliding_window") != nullptr) {
    h.window = std::max<int64_t>(0, TRY(file.integer("attention.sliding_window")));
  } else if (file.container() == "gguf") {
    h.window = family.usual_window;
  }
  TRY(read_scales(file, family, h));
  h.parallel = TRY(read_parallel(file, family.block));
  if (family.block.qk_norm_optional) {
    const bool has = family.block.qk_norm_weights
                         ? file.find_tensor("blk.0.attn_q_norm.weight") != nullptr
                         : h.n_experts == 0 || h.n_experts != family.unnormalised_experts;
    h.qk_norm = TRY(truth_or(file, "use_qk_norm", has));
  }
  const std::string second = fmt::format("blk.0.{}.weight", family.second_norm);
  h.shared_norm = family.block.shared_norm && file.find_tensor(second) == nullptr;
  // A config.json says the scale by its own key; a GGUF file leaves it to the reader.
  if (h.n_layers == family.width_scaled_depth &&
      file.find("attention.query_pre_attn_scalar") == nullptr) {
    h.attn_scale = std::sqrt(static_cast<float>(h.n_heads) / static_cast<float>(h.n_embd));
  }
  return h;
}

// Adds the numbers of an encoder that is unlike its decoder.
Status read_unlike_sides(const ModelFile& file, const FamilyRecord& family, HParams& h) {
  HParams encoder = TRY(read_side_numbers(EncoderNumbers(file), family));
  encoder.bidirectional = true;
  TRY(read_start(file, h));
  if (h.ends_with_context || encoder.ends_with_context) {
    const std::string_view side = encoder.ends_with_context ? "encoder." : "";
    return fail(Code::unsupported,
                "{}: '{}' changes with the length of a text, which is not supported beside an "
                "encoder",
                file.path(), file.shown_key(fmt::format("{}rope.scaling.ends_with_context", side)));
  }
  h.n_ctx_train = std::min(h.n_ctx_train, encoder.n_ctx_train);
  h.n_encoder_layers = encoder.n_layers;
  h.n_layers += encoder.n_layers;
  h.encoder = std::make_shared<const HParams>(std::move(encoder));
  return {};
}

}  // namespace

Result<HParams> read_hparams(const ModelFile& file, const FamilyRecord& family) {
  if (!family.block.has_layers) return read_table_numbers(file);
  HParams h = TRY(read_side_numbers(file, family));
  if (family.block.unlike_sides) TRY(read_unlike_sides(file, family, h));
  return h;
}

}  // namespace ruv
