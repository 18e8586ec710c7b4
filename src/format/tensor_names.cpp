// The table of names and the matching of its patterns.
#include "format/tensor_names.h"

#include <array>
#include <vector>

#include <fmt/core.h>

#include "base/utf8.h"

namespace ruv {
namespace {

// Names without their last part, ".weight" or ".bias". "{}" is a decimal number: the layer, then
// the expert. Rows are tried in order, so those for some families stand before the general ones.
struct NameRow {
  std::string_view gguf;
  std::string_view hf;
  std::string_view only = {};  // GGUF architectures, each between spaces; empty means all
  bool conv1d = false;
};

constexpr std::string_view kSandwich = " gemma2 gemma3 ";
constexpr std::string_view kGpt2 = " gpt2 ";
constexpr std::string_view kStarCoder2 = " starcoder2 ";
constexpr std::string_view kPhi3 = " phi3 ";
constexpr std::string_view kSplitQkv = " llama qwen2 qwen3 gemma gemma2 gemma3 starcoder2 ";
constexpr std::string_view kNormedQk = " qwen3 gemma3 ";
constexpr std::string_view kGated = " llama qwen2 qwen3 gemma gemma2 gemma3 ";

constexpr std::array kRows = {
    NameRow{"token_embd", "model.embed_tokens"},
    NameRow{"output_norm", "model.norm"},
    NameRow{"output", "lm_head"},
    NameRow{"blk.{}.attn_norm", "model.layers.{}.input_layernorm"},
    NameRow{"blk.{}.attn_q", "model.layers.{}.self_attn.q_proj", kSplitQkv},
    NameRow{"blk.{}.attn_k", "model.layers.{}.self_attn.k_proj", kSplitQkv},
    NameRow{"blk.{}.attn_v", "model.layers.{}.self_attn.v_proj", kSplitQkv},
    NameRow{"blk.{}.attn_qkv", "model.layers.{}.self_attn.qkv_proj", kPhi3},
    NameRow{"blk.{}.attn_output", "model.layers.{}.self_attn.o_proj"},
    NameRow{"blk.{}.attn_q_norm", "model.layers.{}.self_attn.q_norm", kNormedQk},
    NameRow{"blk.{}.attn_k_norm", "model.layers.{}.self_attn.k_norm", kNormedQk},
    NameRow{"blk.{}.post_attention_norm", "model.layers.{}.post_attention_layernorm", kSandwich},
    NameRow{"blk.{}.ffn_norm", "model.layers.{}.pre_feedforward_layernorm", kSandwich},
    NameRow{"blk.{}.post_ffw_norm", "model.layers.{}.post_feedforward_layernorm", kSandwich},
    NameRow{"blk.{}.ffn_norm", "model.layers.{}.post_attention_layernorm"},
    NameRow{"blk.{}.ffn_gate", "model.layers.{}.mlp.gate_proj", kGated},
    NameRow{"blk.{}.ffn_up", "model.layers.{}.mlp.gate_up_proj", kPhi3},
    NameRow{"blk.{}.ffn_up", "model.layers.{}.mlp.c_fc", kStarCoder2},
    NameRow{"blk.{}.ffn_down", "model.layers.{}.mlp.c_proj", kStarCoder2},
    NameRow{"blk.{}.ffn_up", "model.layers.{}.mlp.up_proj", kGated},
    NameRow{"blk.{}.ffn_down", "model.layers.{}.mlp.down_proj"},
    NameRow{"blk.{}.ffn_gate_inp", "model.layers.{}.block_sparse_moe.gate"},
    NameRow{"blk.{}.ffn_gate.{}", "model.layers.{}.block_sparse_moe.experts.{}.w1"},
    NameRow{"blk.{}.ffn_down.{}", "model.layers.{}.block_sparse_moe.experts.{}.w2"},
    NameRow{"blk.{}.ffn_up.{}", "model.layers.{}.block_sparse_moe.experts.{}.w3"},
    NameRow{"token_embd", "wte", kGpt2},
    NameRow{"position_embd", "wpe", kGpt2},
    NameRow{"output_norm", "ln_f", kGpt2},
    NameRow{"blk.{}.attn_norm", "h.{}.ln_1", kGpt2},
    NameRow{"blk.{}.attn_qkv", "h.{}.attn.c_attn", kGpt2, true},
    NameRow{"blk.{}.attn_output", "h.{}.attn.c_proj", kGpt2, true},
    NameRow{"blk.{}.ffn_norm", "h.{}.ln_2", kGpt2},
    NameRow{"blk.{}.ffn_up", "h.{}.mlp.c_fc", kGpt2, true},
    NameRow{"blk.{}.ffn_down", "h.{}.mlp.c_proj", kGpt2, true},
};

constexpr std::array<std::string_view, 3> kIgnoredEndings = {".rotary_emb.inv_freq", ".attn.bias",
                                                             ".attn.masked_bias"};
constexpr std::array<std::string_view, 4> kIgnoredStarts = {
    "vision_tower.", "multi_modal_projector.", "model.vision_tower.",
    "model.multi_modal_projector."};

// What stands at the "{}" of a pattern, or nothing when the text does not fit it. Numbers have one
// to six digits and no leading zero.
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

bool fits(const NameRow& row, std::string_view architecture) {
  if (row.only.empty()) return architecture != "gpt2" || row.hf == "lm_head";
  return row.only.find(fmt::format(" {} ", architecture)) != std::string_view::npos;
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

// The name without the wrapper of a multi-modal or headless checkpoint.
std::string unwrapped(std::string_view name) {
  if (name.starts_with("language_model.")) return std::string(name.substr(15));
  if (name.starts_with("model.language_model.")) return "model." + std::string(name.substr(21));
  if (name.starts_with("transformer.")) return std::string(name.substr(12));
  return std::string(name);
}

}  // namespace

MappedName gguf_name_of(std::string_view hf_name, std::string_view architecture) {
  const std::string name = unwrapped(hf_name);
  const auto [stem, ending] = split_ending_of(name);
  for (const NameRow& row : kRows) {
    if (stem.empty() || !fits(row, architecture)) continue;
    // Checkpoints of a class without a head lack the "model.".
    auto numbers = match(row.hf, stem);
    if (!numbers && row.hf.starts_with("model.")) numbers = match(row.hf.substr(6), stem);
    if (numbers) return {fill(row.gguf, *numbers) + std::string(ending), row.conv1d, true};
  }
  return {std::string(hf_name)};
}

std::optional<std::string> hf_name_of(std::string_view gguf_name, std::string_view architecture) {
  const auto [stem, ending] = split_ending_of(gguf_name);
  for (const NameRow& row : kRows) {
    if (stem.empty() || !fits(row, architecture)) continue;
    const auto numbers = match(row.gguf, stem);
    if (numbers) return fill(row.hf, *numbers) + std::string(ending);
  }
  return std::nullopt;
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
