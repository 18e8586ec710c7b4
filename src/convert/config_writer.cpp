// One function for each part of a config, as in format/hf_config.cpp.
#include "convert/config_writer.h"

#include <algorithm>
#include <cmath>

#include "convert/rope_writer.h"
#include "family/word_list.h"
#include "format/decimal.h"

namespace ruv {
namespace {

// A class may read several names of one key. Sizes are written by the last of them, which is the
// class's own, other keys by the first.
std::string_view first_of(std::string_view names) {
  return names.substr(0, std::min(names.find(' '), names.size()));
}
std::string_view last_of(std::string_view names) {
  const size_t space = names.rfind(' ');
  return space == names.npos ? names : names.substr(space + 1);
}

class ConfigWriter {
 public:
  ConfigWriter(const Model& model, const HfClass& hf)
      : model_(model), file_(*model.file), family_(*model.family), h_(model.h), hf_(hf) {}

  Result<Json> write(std::string_view dtype) {
    put("architectures", Json::array({first_of(hf_.class_names)}));
    put("model_type", hf_.model_type);
    put_sizes();
    put_heads();
    put_block();
    put_biases();
    put_softcaps();
    put_scales();
    put_windows();
    put_rotated_layers();
    put_experts();
    put_ids();
    put("torch_dtype", dtype);
    TRY(put_rope(model_, hf_, config_));
    if (!conflict_.empty()) {
      return fail(Code::unsupported, "{}: a config of type {} has one '{}' for two values",
                  file_.path(), hf_.model_type, conflict_);
    }
    return std::move(config_);
  }

 private:
  // Adds a member. Classes without a key leave its name empty; two roles may share one, and then
  // have to say the same.
  void put(std::string_view name, Json value) {
    if (name.empty()) return;
    const Json* const there = config_.find(name);
    if (there != nullptr && !(*there == value)) conflict_ = name;
    config_[name] = std::move(value);
  }
  bool has(std::string_view tensor) const { return file_.find_tensor(tensor) != nullptr; }
  // The file's number, or what it means where it has none.
  double number(std::string_view key, double otherwise) const {
    return shortest_number(file_.number(key).value_or(otherwise));
  }

  void put_sizes();
  void put_heads();
  void put_block();
  void put_biases();
  void put_softcaps();
  void put_scales();
  void put_windows();
  void put_rotated_layers();
  void put_experts();
  void put_ids();
  Json layer_types() const;

  const Model& model_;
  const ModelFile& file_;
  const FamilyRecord& family_;
  const HParams& h_;
  const HfClass& hf_;
  Json config_ = Json::object();
  std::string conflict_;
};

// The numbers of the model, which the file has as keys or as shapes.
void ConfigWriter::put_sizes() {
  const HfSizeKeys& sizes = hf_.sizes;
  put(last_of(sizes.layers), h_.n_layers);
  put(last_of(sizes.width), h_.n_embd);
  if (!sizes.ff.empty()) put(last_of(sizes.ff), h_.n_ff);
  put(last_of(sizes.positions), h_.n_ctx_train);
  put("vocab_size", h_.n_vocab);
}

// Classes that always divide the width by the heads have no key for the size of one.
void ConfigWriter::put_heads() {
  const HfSizeKeys& sizes = hf_.sizes;
  put(last_of(sizes.heads), h_.n_heads);
  if (!sizes.kv_heads.empty()) put(last_of(sizes.kv_heads), h_.n_kv_heads);
  if (!hf_.ignores_head_dim) put(last_of(sizes.head_dim), h_.head_dim);
}

// What all layers have alike: norms, activation, and whether the output matrix is the embedding,
// which it is where the file has none.
void ConfigWriter::put_block() {
  put(first_of(hf_.norm_eps_key), shortest_number(double{h_.norm_eps}));
  const BlockSpec& block = family_.block;
  const std::string_view usual = block.act == Act::silu    ? "silu"
                                 : block.act == Act::relu2 ? "relu2"
                                 : block.act == Act::gelu  ? "gelu"
                                                           : "gelu_pytorch_tanh";
  std::string act(hf_.act.empty() || hf_.gelu_is_tanh ? usual : hf_.act);
  if (const Result<std::string> said = file_.text("hidden_act")) act = *said;
  put(first_of(hf_.act_key), act);
  if (!hf_.qk_norm_key.empty()) put(hf_.qk_norm_key, h_.qk_norm);
  put(hf_.tie_key, !has("output.weight"));
  if (!hf_.parallel_key.empty()) put(hf_.parallel_key, h_.parallel);
  if (!hf_.clamp_key.empty()) {
    put(hf_.clamp_key, h_.clamp_qkv > 0 ? Json(shortest_number(double{h_.clamp_qkv})) : Json());
  }
  if (hf_.scales_attention) {
    put("scale_attn_weights", file_.find("attention.scale") == nullptr);
    put("scale_attn_by_inverse_layer_idx", h_.scale_by_inverse_layer);
  }
}

// What the first layer has; whether the others are like it, reading back says.
void ConfigWriter::put_biases() {
  put(first_of(hf_.qkv_bias), has("blk.0.attn_q.bias") || has("blk.0.attn_qkv.bias"));
  put(first_of(hf_.output_bias), has("blk.0.attn_output.bias"));
  put(first_of(hf_.mlp_bias), has("blk.0.ffn_up.bias"));
  put(first_of(hf_.head_bias), has("output.bias"));
}

// Null means that there is none; an absent key would mean the class's default.
void ConfigWriter::put_softcaps() {
  const auto put_one = [&](std::string_view name, const SoftCap& spec, float cap) {
    if (!spec.computed) return;
    put(name, cap > 0 ? Json(shortest_number(double{cap})) : Json());
  };
  put_one("attn_logit_softcapping", family_.attn_softcap, h_.attn_softcap);
  put_one("final_logit_softcapping", family_.final_softcap, h_.final_softcap);
  if (hf_.query_scalar <= 0) return;
  // It is a size in nearly all configs, and written as one.
  const double by_scale = 1.0 / (double{h_.attn_scale} * double{h_.attn_scale});
  const double scalar = number("attention.query_pre_attn_scalar", std::round(by_scale));
  const bool is_whole = scalar == std::floor(scalar) && scalar < 1e9;
  put("query_pre_attn_scalar", is_whole ? Json(static_cast<int64_t>(scalar)) : Json(scalar));
}

// GGUF files without the keys mean what the numbers of the model are by then.
void ConfigWriter::put_scales() {
  put(hf_.embed_scale, number("embedding_scale", double{h_.embed_scale}));
  put(hf_.residual_scale, number("residual_scale", double{h_.residual_scale}));
  put(hf_.attn_scale, number("attention.scale", double{h_.attn_scale}));
  const double logits =
      family_.divides_logits ? 1.0 / double{h_.logit_scale} : double{h_.logit_scale};
  put(hf_.logit_scale, number("logit_scale", logits));
}

// A kind for each layer, from its plan.
Json ConfigWriter::layer_types() const {
  Json types = Json::array();
  for (int64_t i = 0; i < h_.n_layers; ++i) {
    const bool windowed = model_.plans[static_cast<size_t>(i)].window > 0;
    types.push_back(windowed ? "sliding_attention" : "full_attention");
  }
  return types;
}

// A list of kinds says which layers have one, whatever numbers the class would make it of.
void ConfigWriter::put_windows() {
  const HfWindows kind = hf_.windows;
  if (kind == HfWindows::none || kind == HfWindows::never) return;
  const bool has_switch =
      kind == HfWindows::upper || kind == HfWindows::optional || kind == HfWindows::alternate;
  const bool has_window = h_.window > 0;
  if (has_switch) put("use_sliding_window", has_window);
  put(hf_.window_key, has_window ? Json(h_.window) : Json());
  if (kind == HfWindows::all || kind == HfWindows::optional) return;
  if (has_window || !has_switch) put("layer_types", layer_types());
}

// 1 for each layer whose heads rotate.
void ConfigWriter::put_rotated_layers() {
  if (hf_.rotated_key.empty()) return;
  Json rotated = Json::array();
  for (int64_t i = 0; i < h_.n_layers; ++i) {
    rotated.push_back(model_.plans[static_cast<size_t>(i)].rope >= 0 ? 1 : 0);
  }
  put(hf_.rotated_key, std::move(rotated));
}

// A class without a key for their width takes that of the feed-forward.
void ConfigWriter::put_experts() {
  const HfExperts& experts = hf_.experts;
  if (experts.count.names.empty()) return;
  for (const std::string_view name : words_of(experts.count.names)) put(name, h_.n_experts);
  put(first_of(experts.used.names), h_.n_experts_used);
  put(first_of(experts.width.names), h_.n_ff_expert);
  put(first_of(experts.normalises_key), h_.route.normalises);
  put(experts.scale_key, number("expert_weights_scale", double{h_.route.scale}));
  put(first_of(experts.shared_width.names), h_.n_ff_shared);
  if (experts.layers != HfExpertLayers::by_step) return;
  Json dense = Json::array();
  for (int64_t i = 0; i < h_.n_layers; ++i) {
    if (!model_.plans[static_cast<size_t>(i)].has_experts()) dense.push_back(i);
  }
  put("decoder_sparse_step", 1);
  put("mlp_only_layers", std::move(dense));
}

// Classes have defaults that are tokens of other vocabularies.
void ConfigWriter::put_ids() {
  const auto id_or_null = [](const std::optional<Token>& id) { return id ? Json(*id) : Json(); };
  const TokenizerSpec none;
  const TokenizerSpec& spec = model_.tokenizer != nullptr ? model_.tokenizer->spec() : none;
  put("bos_token_id", id_or_null(spec.bos));
  put("eos_token_id", id_or_null(spec.eos));
  put("pad_token_id", id_or_null(spec.pad));
}

}  // namespace

Result<Json> hf_config_of(const Model& model, const HfClass& hf, std::string_view dtype) {
  return ConfigWriter(model, hf).write(dtype);
}

}  // namespace ruv
