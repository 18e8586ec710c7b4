// One reader checks types and ranges of what a config has, whatever generation of transformers
// wrote it; what is special about a family is in its record.
#include "format/hf_config.h"

#include <algorithm>
#include <cmath>
#include <initializer_list>

#include "family/config_keys.h"
#include "family/word_list.h"
#include "format/hf_values.h"
#include "format/python_json.h"
#include "format/tensor_names.h"

namespace ruv {
namespace {

constexpr int kMaxConfigDepth = 64;
constexpr int64_t kMaxLayers = 65536;
constexpr size_t kMaxConfigBytes = size_t{4} << 20;

class ConfigReader {
 public:
  ConfigReader(const Members& config, const FoundClass& found, HfConfig& out, bool encoder = false)
      : config_(config),
        block_(found.family->block),
        hf_(*found.hf),
        config_out_(out),
        out_(found, out) {
    out_.choose_side(encoder);
  }

  Status read() {
    if (block_.mixers == Mixers::time_mix) {
      TRY(read_hf_time_mix(config_, out_));
      TRY(read_tied());
      return check_hf_keys(config_, out_);
    }
    if (out_.family().is_draft_head && !block_.has_layers) {
      TRY(read_hf_parallel_heads(config_, out_));
      return check_hf_keys(config_, out_);
    }
    if (!block_.has_layers) {
      const int64_t longest = TRY(config_.positive_or("seq_length", 512));
      out_.set("context_length", longest, config_.path_of("seq_length"));
      out_.set("pooling_type", int64_t{1}, "");  // mean
      const bool normalises = TRY(config_.truth("normalize")).value_or(false);
      out_.set("normalize_embeddings", normalises, config_.path_of("normalize"));
      return check_hf_keys(config_, out_);
    }
    TRY(read_sizes());
    if (out_.family().is_draft_head) TRY(kept(read_hf_draft_head(config_, out_)));
    TRY(kept(read_heads()));
    if (head_dim_ == 0) TRY(kept(read_block()));
    if (head_dim_ > 0) TRY(read_rest());
    return check_hf_keys(config_, out_);
  }

 private:
  // The first of the names that is set, else the first that is null, else the last.
  std::string_view name_of(std::string_view names) const;
  // False where it is null.
  Result<bool> flag(std::string_view key, bool absent) const;
  Result<int64_t> read_kv_heads(int64_t n_heads) const;
  Status read_attention_object();
  Status read_sizes();
  Status read_ff();
  Status read_heads();
  // Requires: the sizes and heads are known.
  Status read_rest();
  // What is refused does not keep the rest from being examined.
  Status kept(Status status) { return config_out_.faults.keep_unsupported(std::move(status)); }
  Status read_block();
  Status read_tied();
  Status read_biases();
  Status read_softcap(std::string_view name, const SoftCap& cap);
  Status read_softcaps();
  Status read_attention_scale();
  Status read_scales();
  Status read_residual_scale();
  Status read_logit_width();
  Status read_rotated_layers();
  Result<bool> rope_base_is_null() const;
  Status read_position_type();
  Status read_windows();
  Status read_numbered_windows(const std::optional<int64_t>& window);
  Status read_layer_types(const std::optional<int64_t>& window);
  Status read_bias(std::string_view name, bool always, std::string_view key);
  void set_pattern(std::vector<bool> windowed, std::string_view name);
  std::vector<bool> windowed_layers() const;

  const Members& config_;
  const BlockSpec& block_;
  const HfClass& hf_;
  HfConfig& config_out_;
  HfValues out_;
  int64_t n_layers_ = 0;
  int64_t width_ = 0;
  int64_t head_dim_ = 0;
  int64_t local_head_dim_ = 0;  // 0: the same in all layers
  int64_t max_positions_ = 0;
};

std::string_view ConfigReader::name_of(std::string_view names) const {
  std::string_view last;
  bool has_null = false;
  for (const std::string_view name : words_of(names)) {
    if (config_.is_set(name)) return name;
    if (!has_null) last = name;
    has_null |= config_.has(name);
  }
  return last;
}

Status ConfigReader::read_sizes() {
  const std::string_view layers = name_of(hf_.sizes.layers);
  const bool by_halves = hf_.state_space.layers == HfStateLayers::halves;
  n_layers_ = by_halves ? std::ssize(TRY(read_hf_halves(config_))) : TRY(config_.positive(layers));
  if (by_halves && config_.is_set(layers) && TRY(config_.integer(layers)) != n_layers_) {
    return config_.wrong(layers, fmt::format("is not the {} layers that are listed", n_layers_));
  }
  if (n_layers_ > kMaxLayers) return config_.wrong(layers, "is above 65536");
  out_.set("block_count", n_layers_, config_.path_of(layers));
  const std::string_view width = name_of(hf_.sizes.width);
  width_ = TRY(config_.positive(width));
  out_.set("embedding_length", width_, config_.path_of(width));
  if (config_.is_set(hf_.width_again) && TRY(config_.positive(hf_.width_again)) != width_) {
    return config_.wrong(hf_.width_again, fmt::format("differs from '{}'", width),
                         Code::unsupported);
  }
  TRY(read_ff());
  const std::string_view positions = name_of(hf_.sizes.positions);
  max_positions_ = TRY(config_.positive_or(positions, hf_.max_positions));
  out_.set("context_length", max_positions_, config_.path_of(positions));
  // Some configs leave it out; the embedding's shape says it too.
  if (config_.has("vocab_size")) {
    out_.set("vocab_size", TRY(config_.positive("vocab_size")), config_.path_of("vocab_size"));
  }
  return {};
}

// The feed-forward's width; 0 where there is none.
Status ConfigReader::read_ff() {
  const bool with_heads = block_.widths_by_layer || block_.mixers == Mixers::matrix_memory;
  if (with_heads) return {};  // both are read at once
  if (block_.mixers == Mixers::state_space) {
    out_.set("feed_forward_length", int64_t{0}, "");
    return {};
  }
  std::string_view inner = name_of(hf_.sizes.ff);
  const std::string_view count = hf_.experts.count.names;
  if (!hf_.ff_without_experts.empty() && config_.has(count) && TRY(config_.integer(count)) == 0) {
    inner = hf_.ff_without_experts;
  }
  const bool four_times = inner.empty() || (hf_.ff_is_optional && !config_.is_set(inner));
  if (hf_.streams.n > 0 && config_.is_set(inner) && config_.find(inner)->is_array()) {
    return read_hf_ff_list(config_, n_layers_, inner, out_);
  }
  // Where all layers have experts that the config has the width of, there may be no other.
  const HfCount& expert = hf_.experts.width;
  const bool only_experts = hf_.experts.layers == HfExpertLayers::all && !expert.names.empty() &&
                            !out_.family().experts.beside_dense;
  if (only_experts && !config_.has(inner)) inner = expert.names;
  const bool by_halves = hf_.state_space.layers == HfStateLayers::halves;
  const std::vector<HfHalf> halves =
      by_halves ? TRY(read_hf_halves(config_)) : std::vector<HfHalf>();
  const bool has_none = by_halves && std::ranges::count(halves, HfHalf::feed_forward) == 0;
  const int64_t n_ff = four_times ? 4 * width_
                       : has_none ? 0
                       : hf_.block_keys
                           ? TRY(read_block_width(config_))
                           : TRY(config_.positive_or(inner, only_experts ? expert.otherwise : 0));
  // Some classes count gate and up together, rounded down.
  const bool both = block_.mixers == Mixers::gated_recurrence;
  if (both && n_ff < 2) return config_.wrong(inner, "is below 2");
  if (by_halves) {
    auto widths = std::make_shared<MetaArray>();
    for (const HfHalf half : halves) {
      const bool has_experts = half == HfHalf::experts;
      widths->integers.push_back(half == HfHalf::feed_forward ? n_ff
                                 : has_experts
                                     ? TRY(config_.positive_or(expert.names, expert.otherwise))
                                     : 0);
    }
    out_.set("feed_forward_length", std::shared_ptr<const MetaArray>(widths),
             config_.path_of(inner));
    return {};
  }
  out_.set("feed_forward_length", both ? n_ff / 2 : n_ff, config_.path_of(inner));
  return {};
}

Result<bool> ConfigReader::flag(std::string_view key, bool absent) const {
  if (key.empty() || !config_.has(key)) return absent;
  return config_.is_set(key) && TRY(config_.truth(key)).value_or(false);
}

Result<int64_t> ConfigReader::read_kv_heads(int64_t n_heads) const {
  const std::string_view key = hf_.sizes.kv_heads;
  const bool grouped = TRY(flag(hf_.grouped_query, hf_.multi_query.empty()));
  if (!grouped) return TRY(flag(hf_.multi_query, true)) ? 1 : n_heads;
  if (key.empty()) return n_heads;
  if (hf_.null_kv_heads && config_.has(key) && !config_.is_set(key)) return n_heads;
  return config_.positive_or(key, hf_.n_kv_heads != 0 ? hf_.n_kv_heads : n_heads);
}

Status ConfigReader::read_heads() {
  if (block_.mixers == Mixers::state_space) {
    out_.set("attention.head_count", int64_t{0}, "");
    return read_hf_state_space(config_, {n_layers_, 0, 0}, width_, out_);
  }
  if (block_.mixers == Mixers::matrix_memory) return read_hf_matrix_memory(config_, width_, out_);
  if (block_.widths_by_layer) {
    head_dim_ = TRY(read_hf_layer_widths(config_, n_layers_, width_, out_));
    return {};
  }
  const std::string_view heads = name_of(hf_.sizes.heads);
  const int64_t n_heads = TRY(config_.positive_or(heads, hf_.n_heads));
  out_.set("attention.head_count", n_heads, config_.path_of(heads));
  if (out_.family().qkv_rows == QkvRows::four_parts && n_heads % 4 != 0) {
    return config_.wrong(heads, "is not a multiple of 4", Code::unsupported);
  }
  const int64_t n_kv_heads = TRY(read_kv_heads(n_heads));
  out_.set("attention.head_count_kv", n_kv_heads, config_.path_of(hf_.sizes.kv_heads));
  if (block_.mixers == Mixers::short_conv) {
    TRY(read_hf_short_conv(config_, n_layers_, n_kv_heads, out_));
  }
  if (block_.mixers == Mixers::delta_net) {
    TRY(read_hf_delta_net(config_, {n_layers_, n_heads, n_kv_heads}, width_, out_));
  }
  if (block_.mixers == Mixers::gated_recurrence) {
    TRY(read_hf_gated_recurrence(config_, {n_layers_, n_heads, n_kv_heads}, width_, out_));
  }
  if (block_.state_space != StateSpace::none) {
    TRY(read_hf_state_space(config_, {n_layers_, n_heads, n_kv_heads}, width_, out_));
  }
  if (block_.mixers == Mixers::delta_or_latent) {
    TRY(read_hf_delta_or_latent(config_, {n_layers_, n_heads, n_kv_heads}, out_));
  }
  if (hf_.latent.kv_rank > 0) {
    head_dim_ = TRY(read_hf_latent(config_, {n_heads, n_kv_heads, width_}, out_));
    return read_hf_indexer(config_, n_layers_, out_);
  }
  const std::string_view dim = name_of(hf_.sizes.head_dim);
  if (!hf_.ignores_head_dim && config_.is_set(dim)) {
    head_dim_ = TRY(config_.positive(dim));
  } else if (hf_.head_dim != 0 && !config_.has(dim)) {
    head_dim_ = hf_.head_dim;
  } else if (hf_.head_dim != 0 && !hf_.null_head_dim) {
    return config_.wrong(dim, "is null");
  } else {
    // The reference rounds down, except for classes that check it.
    if (hf_.heads_divide && width_ % n_heads != 0) {
      return config_.wrong(heads, "does not divide the hidden size");
    }
    head_dim_ = width_ / n_heads;
    if (head_dim_ == 0) return config_.wrong(heads, "is above the hidden size");
  }
  if (block_.shared_blocks) {
    head_dim_ = TRY(read_hf_shared_blocks(config_, {n_layers_, n_heads, n_kv_heads}, width_, out_));
  }
  out_.set("attention.key_length", head_dim_, config_.path_of(dim));
  out_.set("attention.value_length", head_dim_, config_.path_of(dim));
  if (hf_.streams.n > 0) TRY(read_hf_streams(config_, n_layers_, out_));
  if (block_.unlike_layers) {
    local_head_dim_ = hf_.global_head_dim > 0 ? head_dim_ : 0;
    head_dim_ = TRY(read_hf_unlike_layers(config_, {n_layers_, n_kv_heads, head_dim_}, out_));
  }
  return {};
}

Status ConfigReader::read_rest() {
  TRY(kept(read_block()));
  if (block_.bidirectional) TRY(kept(read_hf_encoder(config_, width_, out_)));
  if (block_.reads_source && !block_.unlike_sides)
    TRY(kept(read_hf_source(config_, {n_layers_, 0, 0}, width_, out_)));
  TRY(kept(read_hf_distances(config_, {head_dim_, max_positions_}, out_)));
  TRY(kept(read_softcaps()));
  TRY(kept(read_attention_scale()));
  TRY(kept(read_scales()));
  TRY(kept(read_attention_object()));
  TRY(kept(read_windows()));
  TRY(kept(read_rotated_layers()));
  TRY(kept(read_position_type()));
  const bool rotates = !hf_.rope_optional || !TRY(rope_base_is_null());
  const int64_t plain_dim = hf_.latent.part_of_head
                                ? TRY(config_.positive_or("qk_nope_head_dim", hf_.latent.plain_dim))
                                : 0;
  if (rotates)
    TRY(kept(read_hf_rope(config_, {head_dim_, max_positions_, plain_dim, local_head_dim_}, out_)));
  TRY(kept(read_hf_layer_bases(config_, windowed_layers(), out_)));
  TRY(kept(read_hf_growth(config_, out_)));
  return kept(read_hf_experts(config_, n_layers_, out_));
}

Status ConfigReader::read_block() {
  const std::string_view eps_key = name_of(hf_.norm_eps_key), act_key = name_of(hf_.act_key);
  const auto eps = TRY(config_.number(eps_key));
  out_.set(block_.norm == Norm::layer ? "attention.layer_norm_epsilon"
                                      : "attention.layer_norm_rms_epsilon",
           eps.value_or(hf_.norm_eps), config_.path_of(eps_key));
  const std::string_view usual = block_.act == Act::silu    ? "silu"
                                 : block_.act == Act::relu2 ? "relu2"
                                 : block_.act == Act::gelu  ? "gelu"
                                                            : "gelu_pytorch_tanh";
  std::string act = TRY(config_.text_or(act_key, hf_.act.empty() ? usual : hf_.act));
  if (hf_.gelu_is_tanh && act == "gelu") act = usual;
  out_.set("hidden_act", act, config_.path_of(act_key));
  if (!hf_.gated_act_key.empty()) TRY(read_hf_gated_act(config_, out_));
  if (!hf_.glu_key.empty()) TRY(read_hf_glu(config_, out_));
  if (!hf_.qk_norm_key.empty()) {
    const bool normalised = TRY(config_.truth(hf_.qk_norm_key)).value_or(hf_.qk_norm_by_default);
    out_.set("use_qk_norm", normalised, config_.path_of(hf_.qk_norm_key));
  }
  TRY(read_hf_output_dense(config_, out_));
  TRY(read_tied());
  return read_biases();
}

Status ConfigReader::read_tied() {
  const std::string_view tied = hf_.block_keys || hf_.short_tie_key
                                    ? name_of("tie_embedding tie_word_embeddings")
                                    : hf_.tie_key;
  const bool said = TRY(config_.truth(tied)).value_or(hf_.tied);
  config_out_.tied_embeddings = said || hf_.always_tied;
  out_.set("tie_word_embeddings", config_out_.tied_embeddings, config_.path_of(tied));
  // Classes of such layers have an output matrix of their own, whatever the key says.
  const bool ties_none = hf_.state_space.layers == HfStateLayers::halves ||
                         block_.mixers == Mixers::delta_or_latent ||
                         block_.mixers == Mixers::matrix_memory;
  if (config_out_.tied_embeddings && ties_none) {
    return config_.wrong(tied, "is true, but this model class ties no matrix", Code::unsupported);
  }
  return {};
}

// A class without a key for it has the bias always or never.
Status ConfigReader::read_bias(std::string_view name, bool always, std::string_view keys) {
  const std::string_view key = name_of(keys);
  const bool otherwise = hf_.biases_by_default ||
                         (hf_.qkv_bias_by_default && name == "attention_bias") ||
                         (hf_.head_bias_by_default && name == "lm_head_bias");
  const bool has = key.empty() ? always : TRY(config_.truth(key)).value_or(otherwise);
  out_.set(name, has, std::string(key));
  return {};
}

Status ConfigReader::read_biases() {
  TRY(read_bias("attention_bias", block_.qkv_bias, hf_.qkv_bias));
  TRY(read_bias("lm_head_bias", block_.head_bias, hf_.head_bias));
  TRY(read_bias("attention_output_bias", block_.all_bias || block_.output_bias, hf_.output_bias));
  return read_bias("mlp_bias", block_.all_bias || block_.mlp_bias, hf_.mlp_bias);
}

// Absent: the default of the family's record. Null: none, written as 0.
Status ConfigReader::read_softcap(std::string_view name, const SoftCap& softcap) {
  if (!softcap.computed || !config_.has(name)) return {};
  double cap = 0;
  if (config_.is_set(name)) {
    cap = TRY(config_.number(name)).value_or(0);
    if (!(cap > 0)) return config_.wrong(name, "is not above 0; null means none");
  }
  out_.set(name, cap, config_.path_of(name));
  return {};
}

Status ConfigReader::read_softcaps() {
  TRY(read_softcap("attn_logit_softcapping", out_.family().attn_softcap));
  return read_softcap("final_logit_softcapping", out_.family().final_softcap);
}

Status ConfigReader::read_attention_scale() {
  if (hf_.query_scalar > 0) {
    constexpr std::string_view kName = "query_pre_attn_scalar";
    const double scalar = TRY(config_.number(kName)).value_or(hf_.query_scalar);
    if (!(scalar > 0)) return config_.wrong(kName, "is not above 0");
    out_.set("attention.query_pre_attn_scalar", scalar, config_.path_of(kName));
  }
  if (hf_.scores_are_plain) out_.set("attention.scale", 1.0, std::string());
  if (!hf_.scales_attention) return {};
  if (!TRY(config_.truth("scale_attn_weights")).value_or(true)) {
    out_.set("attention.scale", 1.0, "scale_attn_weights");
  }
  if (TRY(config_.truth("scale_attn_by_inverse_layer_idx")).value_or(false)) {
    out_.set("attention.scale_by_inverse_layer_idx", true, "scale_attn_by_inverse_layer_idx");
  }
  return {};
}

// One of the class's two forms: a number, or a number over the root of the depth.
Status ConfigReader::read_residual_scale() {
  const std::string_view name = hf_.residual_scale;
  if (name.empty()) return {};
  double scale = 1;
  if (!hf_.residual_by_depth || !config_.has(name) || config_.is_set(name)) {
    const double depth = hf_.residual_by_depth ? std::sqrt(static_cast<double>(n_layers_)) : 1;
    scale = TRY(config_.number(name)).value_or(hf_.residual_scale_default) / depth;
  }
  if (scale == 0) return config_.wrong(name, "is 0");
  out_.set("residual_scale", scale, config_.path_of(name));
  return {};
}

// The scale as the width that logits were tuned for.
Status ConfigReader::read_logit_width() {
  const std::string_view name = hf_.logit_width;
  if (name.empty()) return {};
  double scale = 1;
  if (!config_.has(name) || config_.is_set(name)) {
    scale =
        TRY(config_.number(name)).value_or(hf_.logit_width_default) / static_cast<double>(width_);
  }
  if (scale == 0) return config_.wrong(name, "is 0");
  if (out_.family().divides_logits) scale = 1 / scale;
  out_.set("logit_scale", scale, config_.path_of(name));
  return {};
}

// Zero would make every answer the same, and means "none" in GGUF files.
Status ConfigReader::read_scales() {
  struct Row {
    std::string_view key, name;
    double otherwise;
  };
  const Row rows[] = {{"embedding_scale", hf_.embed_scale, hf_.embed_scale_default},
                      {"attention.scale", hf_.attn_scale, 1},
                      {"logit_scale", hf_.logit_scale, hf_.logit_scale_default}};
  for (const Row& row : rows) {
    if (row.name.empty()) continue;
    if (hf_.attn_scale_by_size && row.name == hf_.attn_scale && !config_.is_set(row.name)) continue;
    const double scale = TRY(config_.number(row.name)).value_or(row.otherwise);
    if (scale == 0) return config_.wrong(row.name, "is 0");
    out_.set(row.key, scale, config_.path_of(row.name));
  }
  TRY(read_residual_scale());
  TRY(read_logit_width());
  if (!hf_.root_embed_key.empty()) {
    const bool scaled = TRY(config_.truth(hf_.root_embed_key)).value_or(false);
    out_.set("embedding_scale", scaled ? std::sqrt(static_cast<double>(width_)) : 1.0,
             config_.path_of(hf_.root_embed_key));
  }
  if (!hf_.parallel_key.empty()) {
    const bool parallel = TRY(config_.truth(hf_.parallel_key)).value_or(block_.parallel);
    out_.set("use_parallel_residual", parallel, config_.path_of(hf_.parallel_key));
  }
  if (hf_.clamp_key.empty() || !config_.is_set(hf_.clamp_key)) return {};
  const double limit = TRY(config_.number(hf_.clamp_key)).value_or(0);
  if (!(limit > 0)) return config_.wrong(hf_.clamp_key, "is not above 0; null means none");
  out_.set("attention.clamp_kqv", limit, config_.path_of(hf_.clamp_key));
  return {};
}

Status ConfigReader::read_attention_object() {
  // Readers of GGUF files want it even where the family has nothing else.
  const bool always = block_.positions == Positions::alibi;
  if (TRY(flag(hf_.alibi, always)))
    out_.set("attention.max_alibi_bias", 8.0, std::string(hf_.alibi));
  if (hf_.attention_object.empty()) return {};
  const Members inner = TRY(config_.object(hf_.attention_object));
  const std::string path = config_.path_of(hf_.attention_object) + ".";
  const Members attention(inner.json(), config_.source(), path);
  for (const auto& [name, key] : {std::pair("clip_qkv", "attention.clamp_kqv"),
                                  std::pair("softmax_scale", "attention.scale")}) {
    const double number = attention.is_set(name) ? TRY(attention.number(name)).value_or(0) : 0;
    if (number < 0) return attention.wrong(name, "is below 0");
    if (number > 0) out_.set(key, number, attention.path_of(name));
  }
  return check_hf_attention_keys(attention, out_);
}

// GGUF files say by this key that heads are not rotated.
Status ConfigReader::read_position_type() {
  const std::string_view key = hf_.position_type_key;
  if (key.empty()) return {};
  const bool rotates = config_.is_set(key) && TRY(config_.text_or(key, "")) == "rope";
  out_.set("rope.scaling.finetuned", rotates, config_.path_of(key));
  return {};
}

// Null, which is not the same as absent: then the class has a default.
Result<bool> ConfigReader::rope_base_is_null() const {
  for (const std::string_view name : {"rope_scaling", "rope_parameters"}) {
    if (!config_.is_set(name)) continue;
    const Members rope = TRY(config_.object(name));
    if (rope.has("rope_theta")) return !rope.is_set("rope_theta");
    if (!rope.json().empty()) break;
  }
  return config_.has("rope_theta") && !config_.is_set("rope_theta");
}

// A list with a number for each layer, 0 for those without positions; or their period.
Status ConfigReader::read_rotated_layers() {
  if (hf_.rope_optional && TRY(rope_base_is_null())) {
    auto none = std::make_shared<MetaArray>();
    none->bools.assign(static_cast<size_t>(n_layers_), false);
    out_.set("rope.rotated_layers", std::shared_ptr<const MetaArray>(none),
             config_.path_of("rope_theta"));
    return {};
  }
  if (hf_.rotated_key.empty()) return {};
  auto rotated = std::make_shared<MetaArray>();
  if (config_.is_set(hf_.rotated_key)) {
    const Json& list = *config_.find(hf_.rotated_key);
    const auto is_integer = [](const Json& one) { return one.is_number_integer(); };
    if (!list.is_array() || std::cmp_not_equal(list.size(), n_layers_) ||
        !std::all_of(list.begin(), list.end(), is_integer)) {
      return config_.wrong(hf_.rotated_key, "is not an array with one integer for each layer");
    }
    for (const Json& one : list) rotated->bools.push_back(one.get<int64_t>() != 0);
  } else {
    const int64_t usual =
        block_.unrotated_period > 0 ? block_.unrotated_period : block_.window_period;
    const int64_t period = TRY(config_.positive_or(hf_.unrotated_key, usual));
    for (int64_t i = 0; i < n_layers_; ++i) rotated->bools.push_back((i + 1) % period != 0);
  }
  out_.set("rope.rotated_layers", std::shared_ptr<const MetaArray>(rotated),
           config_.path_of(hf_.rotated_key));
  if (hf_.windows == HfWindows::chunks) return read_hf_chunks(config_, rotated->bools, out_);
  return {};
}

Status ConfigReader::read_windows() {
  if (hf_.windows == HfWindows::none || hf_.windows == HfWindows::chunks) return {};
  if (hf_.windows == HfWindows::local) return read_hf_local_windows(config_, n_layers_, out_);
  if (hf_.windows == HfWindows::prefixed) return read_hf_prefixed(config_, n_layers_, out_);
  if (hf_.windows == HfWindows::never) {
    return config_.is_set("layer_types") ? read_layer_types(std::nullopt) : Status();
  }
  const bool has_switch = hf_.windows == HfWindows::upper || hf_.windows == HfWindows::optional ||
                          hf_.windows == HfWindows::alternate;
  const bool by_number = hf_.windows == HfWindows::upper || hf_.windows == HfWindows::above ||
                         hf_.windows == HfWindows::alternate;
  const bool used = !has_switch || TRY(config_.truth("use_sliding_window")).value_or(false);
  std::optional<int64_t> window;
  if (used && !config_.has(hf_.window_key)) {
    if (hf_.window > 0) window = hf_.window;
  } else if (used && config_.is_set(hf_.window_key)) {
    window = TRY(config_.positive(hf_.window_key));
  }
  if (window && hf_.halves_window) *window /= 2;
  if (window && *window == 0) return config_.wrong(hf_.window_key, "leaves no key to see");
  // An encoder's reaches as far ahead as back.
  const int64_t n_ways = out_.is_encoder() ? 2 : 1;
  if (window)
    out_.set("attention.sliding_window", n_ways * *window, config_.path_of(hf_.window_key));
  if (hf_.windows == HfWindows::all || hf_.windows == HfWindows::optional) return {};
  if (config_.is_set("layer_types")) return read_layer_types(window);
  if (hf_.windows == HfWindows::listed) return {};
  if (by_number) return read_numbered_windows(window);
  if (!window && hf_.windows == HfWindows::periodic_or_none) return {};
  if (!window) return config_.wrong(hf_.window_key, "is null, but layers have a window");
  int64_t period = block_.window_period;
  if (!hf_.period_key.empty()) period = TRY(config_.positive_or(hf_.period_key, period));
  out_.set("attention.sliding_window_pattern", period, config_.path_of(hf_.period_key));
  return {};
}

// The layers from max_window_layers on, or every other one below it.
Status ConfigReader::read_numbered_windows(const std::optional<int64_t>& window) {
  constexpr std::string_view kName = "max_window_layers";
  const int64_t limit = config_.has(kName) ? TRY(config_.integer(kName)) : hf_.max_window_layers;
  if (!window) return {};
  std::vector<bool> windowed;
  for (int64_t i = 0; i < n_layers_; ++i) {
    windowed.push_back(hf_.windows == HfWindows::alternate ? i < limit && i % 2 == 0 : i >= limit);
  }
  auto pattern = std::make_shared<MetaArray>();
  pattern->bools = std::move(windowed);
  out_.set("attention.sliding_window_pattern", std::shared_ptr<const MetaArray>(pattern),
           config_.path_of(kName));
  return {};
}

Status ConfigReader::read_layer_types(const std::optional<int64_t>& window) {
  const Json& types = *config_.find("layer_types");
  if (!types.is_array() || types.size() != static_cast<size_t>(n_layers_)) {
    return config_.wrong("layer_types", "is not an array with one text for each layer");
  }
  std::vector<bool> windowed;
  for (const Json& type : types) {
    if (type != "sliding_attention" && type != "full_attention") {
      return config_.wrong("layer_types",
                           fmt::format("has the kind {}; sliding_attention and full_attention are "
                                       "supported",
                                       quoted_name(type.dump())),
                           Code::unsupported);
    }
    windowed.push_back(type == "sliding_attention");
  }
  const bool any = std::find(windowed.begin(), windowed.end(), true) != windowed.end();
  if (any && !window) {
    return config_.wrong("layer_types",
                         fmt::format("has sliding_attention, but there is no {}", hf_.window_key));
  }
  set_pattern(std::move(windowed), "layer_types");
  return {};
}

// The period form is what GGUF files of these families imply, so it is preferred.
void ConfigReader::set_pattern(std::vector<bool> windowed, std::string_view name) {
  const auto begin = windowed.begin() + (block_.full_first ? 1 : 0);
  const auto first_full = std::find(begin, windowed.end(), false);
  const int64_t period = first_full - begin + 1;
  bool periodic = true;
  const BlockSpec by_period{
      .windows = Windows::periodic, .window_period = period, .full_first = block_.full_first};
  for (int64_t i = 0; i < n_layers_; ++i) {
    periodic &= windowed[static_cast<size_t>(i)] == is_windowed(by_period, i);
  }
  if (periodic) {
    out_.set("attention.sliding_window_pattern", period, config_.path_of(name));
    return;
  }
  auto pattern = std::make_shared<MetaArray>();
  pattern->bools = std::move(windowed);
  out_.set("attention.sliding_window_pattern", std::shared_ptr<const MetaArray>(pattern),
           config_.path_of(name));
}

// As read: by a period, or one by one.
std::vector<bool> ConfigReader::windowed_layers() const {
  std::vector<bool> windowed(static_cast<size_t>(n_layers_), false);
  const MetaValue* const found = out_.find("attention.sliding_window_pattern");
  if (found == nullptr) return windowed;
  if (const auto* list = std::get_if<std::shared_ptr<const MetaArray>>(found)) {
    return (*list)->bools;
  }
  BlockSpec by_period = block_;
  by_period.windows = Windows::periodic;
  by_period.window_period = std::get<int64_t>(*found);
  for (int64_t i = 0; i < n_layers_; ++i) {
    windowed[static_cast<size_t>(i)] = is_windowed(by_period, i);
  }
  return windowed;
}

// A name that may be shown as it is, since errors above quote it.
Result<std::string> short_name(const Members& config, std::string_view key,
                               const std::string& name) {
  if (name.empty() || quoted_name(name) != name) return config.wrong(key, "is not a short text");
  return name;
}

// The first class that the config names; empty when it names none.
Result<std::string> class_of(const Members& config) {
  if (!config.is_set("architectures")) return std::string();
  const Json& classes = *config.find("architectures");
  if (!classes.is_array() || classes.empty() || !classes.front().is_string()) {
    return config.wrong("architectures", "is not an array of texts");
  }
  return short_name(config, "architectures", classes.front().get<std::string>());
}

struct ChosenClass {
  FoundClass found;  // nothing: unknown
  std::string name;  // for errors
};

// model_type decides, as in transformers; the class only where it is missing, or tells two of the
// type apart. A class with another head than the one for text or scores is not one of ours.
Result<ChosenClass> choose_class(const Members& config, HfConfig& out) {
  if (has_parallel_heads(config)) return ChosenClass{class_of_parallel_heads(), {}};
  const std::string named_class = TRY(class_of(config));
  std::string type;
  if (config.is_set("model_type")) {
    type = TRY(short_name(config, "model_type", TRY(config.text_or("model_type", ""))));
  }
  if (type.empty() && named_class.empty()) {
    return config.wrong("architectures", "is missing, and model_type too");
  }
  const FoundClass by_class = find_hf_class(named_class);
  if (type.empty()) return ChosenClass{by_class, named_class};
  const FoundClass by_type = find_hf_type(type);
  if (by_type.hf == nullptr) return ChosenClass{{}, named_class.empty() ? type : named_class};
  if (by_class.hf != nullptr && by_class.hf->model_type == type) return ChosenClass{by_class, type};
  if (named_class.empty() && has_generations(type)) {
    return config.wrong("architectures", "is missing, and several classes have the model_type");
  }
  if (scores_by(by_type, named_class)) return ChosenClass{by_type, type};
  if (!named_class.empty() && by_class.hf == nullptr) return ChosenClass{{}, named_class};
  if (by_class.hf != nullptr && by_class.hf != by_type.hf) {
    out.remarks.push_back(
        fmt::format("'architectures' names {}, but 'model_type' is {}, which "
                    "counts",
                    named_class, type));
  }
  return ChosenClass{by_type, type};
}

// The family of a class that may be an encoder or have experts.
Status choose_family(const Members& config, FoundClass& found) {
  if (found.hf == nullptr) return {};
  if (found.hf->with_experts != nullptr) {
    const auto halves = read_hf_halves(config);  // what is wrong with it is said later
    const bool has_experts = halves.has_value() && std::ranges::count(*halves, HfHalf::experts) > 0;
    if (has_experts) found.family = found.hf->with_experts;
  }
  if (found.hf->encoder == nullptr) return {};
  if (!config.is_set(found.hf->encoder_key)) return {};
  const bool is_encoder = TRY(config.truth(found.hf->encoder_key)).value_or(false);
  if (is_encoder) found.family = found.hf->encoder;
  return {};
}

// Takes a member away by the name that errors give it.
bool take_away(Json& object, std::string_view path) {
  if (!object.is_object()) return false;
  if (object.erase(path)) return true;
  const size_t dot = path.find('.');
  if (dot == path.npos) return false;
  Json* const inner = object.find(path.substr(0, dot));
  return inner != nullptr && take_away(*inner, path.substr(dot + 1));
}

// The config with the members of inner objects beside those of the outer one.
Result<Json> flattened(const Members& config, std::string_view inner_objects) {
  Json flat = config.json();
  for (const std::string_view name : words_of(inner_objects)) {
    const Json inner = TRY(Members(flat, config.source()).object(name)).json();
    for (const auto& [key, value] : inner.items()) flat[fmt::format("{}.{}", name, key)] = value;
    flat.erase(name);
  }
  return flat;
}

Status read_class(const Members& outer, const FoundClass& found, HfConfig& out) {
  const bool is_head = found.family->is_draft_head;
  const Json whole = is_head ? TRY(whole_head_config(outer)) : outer.json();
  const Members all(whole, outer.source());
  const Json flat = TRY(flattened(all, found.hf->inner_objects));
  const Members config(flat, outer.source());
  HfValues values(found, out);
  const std::string named = TRY(class_of(config));
  // A class without a head, whose file may lack an output matrix.
  out.classifier = classifier_of(found, named);
  if (named.ends_with("Model") || out.classifier != nullptr) {
    values.set("without_output", true, "architectures");
  }
  if (out.classifier != nullptr) {
    TRY(out.faults.keep_unsupported(read_hf_classifier(config, values)));
  }
  if (found.family->block.unlike_sides) {
    TRY(ConfigReader(TRY(config.object("encoder")), found, out, true).read());
    const Members decoder = TRY(config.object("decoder"));
    TRY(ConfigReader(decoder, found, out).read());
    return read_hf_sides(config, decoder, out, values);
  }
  if (!found.hf->nested) return ConfigReader(config, found, out).read();
  const Members inner = TRY(config.object("text_config"));
  TRY(ConfigReader(inner, found, out).read());
  if (config.is_set("tie_word_embeddings")) {
    const bool tied = TRY(config.truth("tie_word_embeddings")).value_or(true);
    if (inner.has("tie_word_embeddings") && tied != out.tied_embeddings) {
      return config.wrong("tie_word_embeddings", "differs from the one in text_config",
                          Code::unsupported);
    }
    out.tied_embeddings = tied;
    values.set("tie_word_embeddings", tied, "tie_word_embeddings");
  }
  return check_hf_outer_keys(config, values);
}

}  // namespace

Result<HfConfig> parse_hf_config(std::string_view text, const std::string& source,
                                 std::span<const std::string> ignored_keys) {
  if (text.size() > kMaxConfigBytes) {
    return fail(Code::corrupt, "{}: {} bytes, a config has at most {}", source, text.size(),
                kMaxConfigBytes);
  }
  Json json = TRY(parse_json(with_tagged_floats(text), source, {.depth = kMaxConfigDepth}));
  if (!json.is_object()) return fail(Code::corrupt, "{}: not a JSON object", source);
  HfConfig out;
  for (const std::string& key : ignored_keys) {
    if (take_away(json, key)) out.ignored.push_back(key);
  }
  out.foreign = TRY(take_foreign_config(json, source, out.faults));
  const Members config(json, source);
  ChosenClass chosen = TRY(choose_class(config, out));
  TRY(choose_family(config, chosen.found));
  out.family = chosen.found.family;
  out.hf = chosen.found.hf;
  out.architecture = out.family == nullptr ? chosen.name : std::string(out.family->name);
  if (out.family != nullptr) {
    const Status status = read_class(config, chosen.found, out);
    const bool is_unreadable = !status.ok() && status.code() != Code::unsupported;
    if (is_unreadable && out.faults.empty()) return tl::unexpected(status);
    out.faults.add(status);
  }
  out.metadata.insert_or_assign("general.architecture", out.architecture);
  return out;
}

}  // namespace ruv
