#include "format/gguf_keys.h"

#include <algorithm>

#include "family/word_list.h"
#include "format/tensor_names.h"

namespace ruv {
namespace {

constexpr NeutralKey kNeutral[] = {{"rope.scale_linear", " 1 "},
                                   {"rope.scaling.yarn_ext_factor", " 1 "},
                                   {"rope.scaling.yarn_attn_factor", " 1 "},
                                   {"rope.scaling.yarn_log_multiplier", " 0 "},
                                   {"attention.causal", " true "},
                                   {"attention.max_alibi_bias", " 0 "},
                                   {"attention.shared_kv_layers", " 0 "},
                                   {"attention.clamp_kqv", " 0 "},
                                   {"embedding_scale", " 0 1 "},
                                   {"residual_scale", " 0 1 "},
                                   {"logit_scale", " 0 1 "},
                                   {"use_parallel_residual", " false "},
                                   {"nextn_predict_layers", " 0 "}};

struct Shown {
  std::string operator()(bool value) const { return value ? "true" : "false"; }
  std::string operator()(int64_t value) const { return fmt::format("{}", value); }
  std::string operator()(double value) const { return fmt::format("{}", value); }
  std::string operator()(const std::string& value) const {
    return fmt::format("\"{}\"", quoted_name(value));
  }
  std::string operator()(const std::shared_ptr<const MetaArray>& value) const {
    return fmt::format("an array of {}", value->size());
  }
};

}  // namespace

std::string_view gguf_keys() {
  return " block_count context_length embedding_length feed_forward_length vocab_size "
         "attention.head_count attention.head_count_kv attention.key_length attention.value_length "
         "attention.layer_norm_rms_epsilon attention.layer_norm_epsilon attention.scale "
         "attention.sliding_window attention.sliding_window_pattern "
         "rope.dimension_count rope.freq_base rope.freq_base_swa rope.scaling.type "
         "rope.scaling.factor rope.scaling.factor_swa rope.scaling.original_context_length "
         "rope.scaling.attn_factor rope.scaling.low_freq_factor rope.scaling.high_freq_factor "
         "rope.scaling.yarn_beta_fast rope.scaling.yarn_beta_slow rope.scaling.yarn_truncate "
         "rope.scaling.ends_with_context rope.scaling.short_factor rope.scaling.long_factor "
         "rope.freq_divisors "
         "attn_logit_softcapping final_logit_softcapping expert_count expert_used_count "
         "expert_feed_forward_length expert_weights_norm expert_weights_scale expert_gating_func "
         "expert_group_count expert_group_used_count expert_shared_count expert_shared_average "
         "expert_shared_feed_forward_length expert_weights_least_sum expert_closeness "
         "moe_latent_size kda.head_dim "
         "expert_gate_limit hidden_act use_qk_norm lm_head_bias "
         "tie_word_embeddings attention_bias attention_output_bias mlp_bias "
         "attention.query_pre_attn_scalar attention.scale_by_inverse_layer_idx shortconv.l_cache "
         "position_offset unplaced_token token_type_count embedding_length_in "
         "normalize_embeddings classifier.activation classifier.output_labels classifier.of_mean "
         "classifier.of_each "
         "conv_bias rope.rotated_layers full_attention_interval ssm.beta_scale "
         "ssm.conv_kernel ssm.inner_size "
         "ssm.state_size ssm.time_step_rank ssm.group_count ssm.dt_b_c_rms ssm.dt_b_c_rms_epsilon "
         "ssm.norm_before_gate ssm.hidden_act ssm.time_step_limit ssm_bias ssm_out_bias "
         "pooling_type attention.relative attention.relative_positions "
         "attention.relative_buckets_count attention.content_to_position "
         "attention.position_to_content attention.shared_positions attention.normed_positions "
         "learned_positions without_output output_dense_act output_dense_bias ";
}

std::string_view gguf_keys_without_effect() {
  // Layers with a router have experts, whatever is said of their places.
  return " leading_dense_block_count interleave_moe_layer_step tensor_data_layout "
         "rope.scaling.finetuned ";
}

std::span<const NeutralKey> gguf_neutral_keys() { return kNeutral; }

Faults check_gguf_keys(const MetaMap& metadata, const std::string& architecture,
                       const std::string& source) {
  const FamilyRecord* const family = find_family(architecture);
  Faults faults;
  if (family == nullptr) return faults;
  const std::string prefix = architecture + ".";
  for (auto entry = metadata.lower_bound(prefix);
       entry != metadata.end() && entry->first.starts_with(prefix); ++entry) {
    std::string_view name = std::string_view(entry->first).substr(prefix.size());
    constexpr std::string_view kEncoder = "encoder.";
    if (family->block.unlike_sides && name.starts_with(kEncoder)) {
      name = name.substr(kEncoder.size());
    }
    if (is_word_of(gguf_keys(), name) || is_word_of(family->gguf_keys, name)) continue;
    if (is_word_of(gguf_keys_without_effect(), name)) continue;
    const std::string value = std::visit(Shown(), entry->second);
    const auto* const neutral = std::ranges::find(kNeutral, name, &NeutralKey::name);
    if (neutral != std::end(kNeutral) && is_word_of(neutral->allowed, value)) continue;
    faults.add(
        fail(Code::unsupported,
             "{}: key '{}' is {}, which is not supported; --ignore-key {} computes as if it were "
             "not there",
             source, quoted_name(entry->first), value, quoted_name(entry->first)));
  }
  return faults;
}

}  // namespace ruv
