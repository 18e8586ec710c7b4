// Which tensors a model class has, of those that a checkpoint may hold.
#include <algorithm>

#include "format/hf_config.h"

namespace ruv {
namespace {

bool flag_of(const HfConfig& config, std::string_view key) {
  const auto found = config.metadata.find(fmt::format("{}.{}", config.architecture, key));
  const bool* const flag =
      found == config.metadata.end() ? nullptr : std::get_if<bool>(&found->second);
  return flag != nullptr && *flag;
}

// The number in "blk.7.attn_q.weight", as far as it goes.
int64_t layer_in(std::string_view gguf_name) {
  const std::string_view rest = gguf_name.substr(4);
  int64_t layer = 0;
  for (const char c : rest.substr(0, std::min(rest.find('.'), rest.size()))) {
    layer = layer * 10 + (c - '0');
  }
  return layer;
}

// Projections of linear attention, and those that make all of latent attention's queries, share the
// names of others that have biases.
bool is_linear_projection(const HfConfig& config, std::string_view name) {
  if (config.family->block.mixers != Mixers::delta_or_latent) return false;
  for (const std::string_view part : {".attn_q.", ".attn_k.", ".attn_v."}) {
    if (name.find(part) != name.npos) return true;
  }
  const auto found = config.metadata.find(config.architecture + ".attention.head_count_kv");
  if (name.find(".attn_output.") == name.npos || found == config.metadata.end()) return false;
  const auto* const counts = std::get_if<std::shared_ptr<const MetaArray>>(&found->second);
  const std::vector<int64_t>* const layers = counts == nullptr ? nullptr : &(*counts)->integers;
  const auto layer = static_cast<size_t>(layer_in(name));
  return layers != nullptr && layer < layers->size() && (*layers)[layer] == 0;
}

}  // namespace

bool HfConfig::has_tensor(std::string_view gguf_name, int64_t n_ahead) const {
  if (names.empty()) return true;
  if (gguf_name.starts_with("blk.")) {
    const int64_t layer = layer_in(gguf_name);
    const auto n = metadata.find(architecture + ".block_count");
    if (n != metadata.end() && layer >= std::get<int64_t>(n->second) + n_ahead) return false;
  }
  if (family->block.bidirectional && gguf_name.starts_with("output.")) return false;
  if (!has_distance_tensor(gguf_name)) return false;
  const bool is_second = gguf_name.find("_norm_2.") != gguf_name.npos;
  const bool is_norm = is_second || gguf_name.find("_norm.") != gguf_name.npos;
  if (is_norm && gguf_name.ends_with(".weight") && !family->block.norm_weights) return false;
  const bool is_head_norm = gguf_name.find(".attn_q_norm.") != gguf_name.npos ||
                            gguf_name.find(".attn_k_norm.") != gguf_name.npos;
  if (is_head_norm && !family->block.qk_norm_weights) return false;
  if (is_head_norm && family->block.qk_norm_optional && !hf->qk_norm_by_tensors) {
    return flag_of(*this, "use_qk_norm");
  }
  const bool is_scan = family->block.state_space == StateSpace::heads;
  if (is_scan && gguf_name.ends_with(".ssm_norm.weight")) return flag_of(*this, "ssm.norm");
  if (gguf_name.find(".altup_correct_scale.") != gguf_name.npos) {
    return flag_of(*this, "altup.correct_scale");
  }
  if (!gguf_name.ends_with(".bias")) return true;
  if (is_head_norm && !family->block.qk_norm_biases) return false;
  if (gguf_name.find(".indexer.") != gguf_name.npos) return is_norm;
  if (is_norm) {
    return family->block.norm == Norm::layer && family->block.norm_biases;
  }
  if (gguf_name == "output.bias") return flag_of(*this, "lm_head_bias");
  if (gguf_name == "output_dense.bias") return flag_of(*this, "output_dense_bias");
  if (gguf_name == "token_embd_in.bias") return true;
  if (is_linear_projection(*this, gguf_name)) return false;
  if (gguf_name.find(".attn_output.") != gguf_name.npos) {
    return flag_of(*this, "attention_output_bias");
  }
  if (gguf_name.find(".attn_") != gguf_name.npos) return flag_of(*this, "attention_bias");
  if (gguf_name.ends_with(".ssm_dt.bias")) return true;
  if (gguf_name.ends_with(".ssm_in.bias")) return flag_of(*this, "ssm_bias");
  if (gguf_name.ends_with(".ssm_out.bias")) return flag_of(*this, "ssm_out_bias");
  if (gguf_name.ends_with(".ssm_conv1d.bias")) return flag_of(*this, "conv_bias");
  if (gguf_name.find(".recurrence_") != gguf_name.npos) return true;
  if (gguf_name.find(".memory_") != gguf_name.npos) {
    return gguf_name.ends_with("_in.bias") || gguf_name.ends_with("_forget.bias");
  }
  if (gguf_name.find(".exp_probs_b.") != gguf_name.npos) {
    return flag_of(*this, "expert_choice_bias");
  }
  if (gguf_name.find(".ffn_gate_inp") != gguf_name.npos ||
      gguf_name.find("_exps.") != gguf_name.npos) {
    return family->block.expert_bias;
  }
  if (gguf_name.find(".ffn_down.") != gguf_name.npos && family->block.down_bias) return true;
  if (gguf_name.find(".ffn_") != gguf_name.npos) return flag_of(*this, "mlp_bias");
  if (gguf_name.find(".shortconv.") != gguf_name.npos) return flag_of(*this, "conv_bias");
  return false;
}

}  // namespace ruv
