// The usual names, and the matching of their patterns.
#include "format/tensor_names.h"

#include <array>
#include <vector>

#include <fmt/core.h>

#include "base/utf8.h"
#include "family/word_list.h"

namespace ruv {
namespace {

// Which families have a tensor of the usual names.
enum class NameOf : uint8_t {
  every,
  split_qkv,
  fused_qkv,
  qk_norm,
  sandwich,
  post_norm,
  split_gate,
  split_up,
  fused_gate,
  experts,
  latent,
  indexer,
  ahead
};

// Names without their last part, ".weight" or ".bias". "{}" is a decimal number: the layer, then
// the expert. Rows are tried in order, so those for some families come before the general ones.
struct UsualName {
  TensorName name;
  NameOf of = NameOf::every;
};

constexpr UsualName kUsualNames[] = {
    {{"token_embd", "model.embed_tokens"}},
    {{"output_norm", "model.norm"}},
    {{"output", "lm_head"}},
    {{"blk.{}.attn_norm", "model.layers.{}.input_layernorm"}},
    {{"blk.{}.attn_q", "model.layers.{}.self_attn.q_proj"}, NameOf::split_qkv},
    {{"blk.{}.attn_k", "model.layers.{}.self_attn.k_proj"}, NameOf::split_qkv},
    {{"blk.{}.attn_v", "model.layers.{}.self_attn.v_proj"}, NameOf::split_qkv},
    {{"blk.{}.attn_qkv", "model.layers.{}.self_attn.qkv_proj"}, NameOf::fused_qkv},
    {{"blk.{}.attn_output", "model.layers.{}.self_attn.o_proj"}},
    {{"blk.{}.attn_q_a", "model.layers.{}.self_attn.q_a_proj"}, NameOf::latent},
    {{"blk.{}.attn_q_a_norm", "model.layers.{}.self_attn.q_a_layernorm"}, NameOf::latent},
    {{"blk.{}.attn_q_b", "model.layers.{}.self_attn.q_b_proj"}, NameOf::latent},
    {{"blk.{}.attn_kv_a_mqa", "model.layers.{}.self_attn.kv_a_proj_with_mqa"}, NameOf::latent},
    {{"blk.{}.attn_kv_a_norm", "model.layers.{}.self_attn.kv_a_layernorm"}, NameOf::latent},
    {{"blk.{}.attn_kv_b", "model.layers.{}.self_attn.kv_b_proj"}, NameOf::latent},
    {{"blk.{}.indexer.attn_q_b", "model.layers.{}.self_attn.indexer.wq_b"}, NameOf::indexer},
    {{"blk.{}.indexer.attn_k", "model.layers.{}.self_attn.indexer.wk"}, NameOf::indexer},
    {{"blk.{}.indexer.proj", "model.layers.{}.self_attn.indexer.weights_proj"}, NameOf::indexer},
    {{"blk.{}.indexer.k_norm", "model.layers.{}.self_attn.indexer.k_norm"}, NameOf::indexer},
    {{"blk.{}.attn_q_norm", "model.layers.{}.self_attn.q_norm"}, NameOf::qk_norm},
    {{"blk.{}.attn_k_norm", "model.layers.{}.self_attn.k_norm"}, NameOf::qk_norm},
    {{"blk.{}.post_attention_norm", "model.layers.{}.post_attention_layernorm"}, NameOf::post_norm},
    {{"blk.{}.ffn_norm", "model.layers.{}.pre_feedforward_layernorm"}, NameOf::sandwich},
    {{"blk.{}.post_ffw_norm", "model.layers.{}.post_feedforward_layernorm"}, NameOf::post_norm},
    {{"blk.{}.ffn_norm", "model.layers.{}.post_attention_layernorm"}},
    {{"blk.{}.ffn_gate", "model.layers.{}.mlp.gate_proj"}, NameOf::split_gate},
    {{"blk.{}.ffn_up", "model.layers.{}.mlp.gate_up_proj"}, NameOf::fused_gate},
    {{"blk.{}.ffn_up", "model.layers.{}.mlp.up_proj"}, NameOf::split_up},
    {{"blk.{}.ffn_down", "model.layers.{}.mlp.down_proj"}},
    {{"blk.{}.ffn_gate_inp", "model.layers.{}.mlp.gate"}, NameOf::experts},
    {{.gguf = "blk.{}.exp_probs_b.bias",
      .hf = "model.layers.{}.mlp.gate.e_score_correction_bias",
      .whole = true},
     NameOf::experts},
    {{"blk.{}.ffn_gate.{}", "model.layers.{}.mlp.experts.{}.gate_proj"}, NameOf::experts},
    {{"blk.{}.ffn_up.{}", "model.layers.{}.mlp.experts.{}.up_proj"}, NameOf::experts},
    {{"blk.{}.ffn_down.{}", "model.layers.{}.mlp.experts.{}.down_proj"}, NameOf::experts},
    {{"blk.{}.ffn_gate_shexp", "model.layers.{}.mlp.shared_experts.gate_proj"}, NameOf::experts},
    {{"blk.{}.ffn_up_shexp", "model.layers.{}.mlp.shared_experts.up_proj"}, NameOf::experts},
    {{"blk.{}.ffn_down_shexp", "model.layers.{}.mlp.shared_experts.down_proj"}, NameOf::experts},
    {{"blk.{}.nextn.eh_proj", "model.layers.{}.eh_proj"}, NameOf::ahead},
    {{"blk.{}.nextn.enorm", "model.layers.{}.enorm"}, NameOf::ahead},
    {{"blk.{}.nextn.hnorm", "model.layers.{}.hnorm"}, NameOf::ahead},
    {{"blk.{}.nextn.embed_tokens", "model.layers.{}.embed_tokens"}, NameOf::ahead},
    {{"blk.{}.nextn.shared_head_head", "model.layers.{}.shared_head.head"}, NameOf::ahead},
    {{"blk.{}.nextn.shared_head_norm", "model.layers.{}.shared_head.norm"}, NameOf::ahead},
};

constexpr std::string_view kIgnoredEndings[] = {
    ".rotary_emb.inv_freq",    ".attn.bias",
    ".attn.masked_bias",       ".attention.bias",
    ".attention.masked_bias",  ".attn.causal_mask",
    "embeddings.position_ids", "embeddings.token_type_ids"};
constexpr std::string_view kIgnoredStarts[] = {
    "vision_tower.",       "multi_modal_projector.",
    "model.vision_tower.", "model.multi_modal_projector.",
    "model.embed_vision.", "model.audio_tower.",
    "model.embed_audio.",  "model.vision_embedder.",
    "vision_embedder.",    "model.visual."};

// The texts at the "{}" of a pattern, or nothing when the name does not match. Numbers have one to
// six digits and no leading zero.
std::optional<std::vector<std::string_view>> match(std::string_view pattern,
                                                   std::string_view text) {
  std::vector<std::string_view> numbers;
  while (!pattern.empty()) {
    const size_t fixed = std::min(pattern.find("{}"), pattern.size());
    if (!text.starts_with(pattern.substr(0, fixed))) return std::nullopt;
    text.remove_prefix(fixed);
    pattern.remove_prefix(fixed);
    if (pattern.empty()) break;
    const size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
    if (digits == 0 || digits > 6 || (digits > 1 && text[0] == '0')) return std::nullopt;
    numbers.push_back(text.substr(0, digits));
    text.remove_prefix(digits);
    pattern.remove_prefix(2);
  }
  if (!text.empty()) return std::nullopt;
  return numbers;
}

// The pattern with its "{}" filled in order. Requires: as many numbers as "{}".
std::string fill(std::string_view pattern, const std::vector<std::string_view>& numbers) {
  std::string out;
  for (const std::string_view number : numbers) {
    const size_t at = pattern.find("{}");
    out += pattern.substr(0, at);
    out += number;
    pattern.remove_prefix(at + 2);
  }
  return out += pattern;
}

bool has_name(const FamilyRecord* family, NameOf of) {
  if (of == NameOf::every || family == nullptr) return of == NameOf::every;
  const NormPlace place = family->block.norm_place;
  switch (of) {
    case NameOf::every:
      return true;
    case NameOf::split_qkv:
      return !family->fused_qkv;
    case NameOf::fused_qkv:
      return family->fused_qkv;
    case NameOf::qk_norm:
      return family->block.qk_norm != QkNorm::none;
    case NameOf::sandwich:
      return place == NormPlace::sandwich;
    case NameOf::post_norm:
      return place != NormPlace::pre;
    case NameOf::split_gate:
      return family->block.gated && !family->fused_gate_up;
    case NameOf::split_up:
      return !family->fused_gate_up;
    case NameOf::fused_gate:
      return family->fused_gate_up;
    case NameOf::experts:
      return family->experts.computed;
    case NameOf::latent:
      return family->block.mixers == Mixers::latent ||
             family->block.mixers == Mixers::delta_or_latent;
    case NameOf::indexer:
      return family->block.indexer != Indexer::none;
    case NameOf::ahead:
      return may_predict_ahead(*family);
  }
  return false;
}

// The names of a family in the order they are tried. Null: those that every family has.
std::vector<TensorName> names_of(const FamilyRecord* family, bool has_experts) {
  std::vector<TensorName> names;
  const NameFor others = has_experts ? NameFor::without_experts : NameFor::with_experts;
  if (family != nullptr) {
    for (const TensorName& name : family->own_names) {
      if (name.models != others) names.push_back(name);
    }
  }
  if (family != nullptr && !family->usual_names) return names;
  for (const UsualName& usual : kUsualNames) {
    if (has_name(family, usual.of)) names.push_back(usual.name);
  }
  return names;
}

// "x.y.weight" as "x.y" and ".weight"; both empty when the ending is another.
std::pair<std::string_view, std::string_view> split_ending_of(std::string_view name) {
  for (const std::string_view ending : {std::string_view(".weight"), std::string_view(".bias")}) {
    if (name.ends_with(ending)) {
      return {name.substr(0, name.size() - ending.size()), ending};
    }
  }
  return {};
}

// A name from before the weights of norms were called so.
std::string modern(std::string_view name) {
  constexpr std::string_view kOldEndings[][2] = {{".gamma", ".weight"}, {".beta", ".bias"}};
  for (const auto& [old, now] : kOldEndings) {
    if (name.ends_with(old))
      return std::string(name.substr(0, name.size() - old.size())).append(now);
  }
  return std::string(name);
}

// The name without the wrapper of a multi-modal or headless checkpoint.
std::string unwrapped(std::string_view name, std::string_view prefixes) {
  for (const std::string_view prefix : words_of(prefixes)) {
    if (name.starts_with(prefix)) return modern(name.substr(prefix.size()));
  }
  if (!prefixes.empty()) return modern(name);
  if (name.starts_with("language_model.")) return std::string(name.substr(15));
  if (name.starts_with("model.language_model.")) return "model." + std::string(name.substr(21));
  if (name.starts_with("transformer.")) return std::string(name.substr(12));
  return std::string(name);
}

}  // namespace

TensorNames::TensorNames(const FamilyRecord* family, bool has_experts)
    : names_(names_of(family, has_experts)),
      prefix_(family == nullptr ? "model." : family->base_prefix),
      head_prefixes_(family == nullptr ? "" : family->head_prefixes) {}

MappedName TensorNames::gguf_of(std::string_view hf_name) const {
  const std::string name = unwrapped(hf_name, head_prefixes_);
  const auto [stem, ending] = split_ending_of(name);
  for (const TensorName& row : names_) {
    const std::string_view matched = row.whole ? name : stem;
    if (matched.empty()) continue;
    auto numbers = match(row.hf, matched);
    if (!numbers && row.hf.starts_with(prefix_)) {
      numbers = match(row.hf.substr(prefix_.size()), matched);
    }
    if (numbers) {
      const std::string_view kept = row.whole ? std::string_view() : ending;
      const auto filled = [&](std::string_view pattern) {
        return pattern.empty() ? std::string() : fill(pattern, *numbers).append(kept);
      };
      return {filled(row.gguf), filled(row.other), row, true};
    }
  }
  return {std::string(hf_name)};
}

std::optional<std::string> TensorNames::hf_of(std::string_view gguf_name) const {
  const auto [stem, ending] = split_ending_of(gguf_name);
  for (const TensorName& row : names_) {
    const std::string_view matched = row.whole ? gguf_name : stem;
    if (matched.empty()) continue;
    auto numbers = match(row.gguf, matched);
    if (!numbers && !row.other.empty()) numbers = match(row.other, matched);
    if (numbers) return fill(row.hf, *numbers) + std::string(row.whole ? "" : ending);
  }
  return std::nullopt;
}

bool may_predict_ahead(const FamilyRecord& family) {
  return family.predicts_ahead || is_word_of(family.gguf_keys, "nextn_predict_layers");
}

// Checkpoints of Qwen have one such layer, in a module of its own.
std::string name_of_ahead(std::string_view hf_name, int64_t n_layers) {
  constexpr std::string_view kModule = "mtp.", kLayer = "mtp.layers.0.";
  constexpr std::pair<std::string_view, std::string_view> kOthers[] = {
      {"mtp.fc.weight", "eh_proj.weight"},
      {"mtp.pre_fc_norm_embedding.weight", "enorm.weight"},
      {"mtp.pre_fc_norm_hidden.weight", "hnorm.weight"},
      {"mtp.embed_tokens.weight", "embed_tokens.weight"},
      {"mtp.norm.weight", "shared_head.norm.weight"}};
  if (!hf_name.starts_with(kModule)) return std::string(hf_name);
  const auto in_layer = [&](std::string_view rest) {
    return fmt::format("model.layers.{}.{}", n_layers, rest);
  };
  if (hf_name.starts_with(kLayer)) return in_layer(hf_name.substr(kLayer.size()));
  for (const auto& [name, rest] : kOthers) {
    if (hf_name == name) return in_layer(rest);
  }
  return std::string(hf_name);
}

bool is_ignored_hf_tensor(std::string_view hf_name) {
  for (const std::string_view ending : kIgnoredEndings) {
    if (hf_name.ends_with(ending)) return true;
  }
  for (const std::string_view start : kIgnoredStarts) {
    if (hf_name.starts_with(start)) return true;
  }
  return false;
}

std::string quoted_name(std::string_view name) {
  constexpr size_t kLongest = 96;
  const bool cut = name.size() > kLongest;
  std::string shown = to_valid_utf8(name.substr(0, kLongest));
  for (char& c : shown) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) c = '?';
  }
  return cut ? shown + "…" : shown;
}

}  // namespace ruv
