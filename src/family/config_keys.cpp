#include "family/config_keys.h"

#include <algorithm>

#include "family/word_list.h"

namespace ruv {
namespace {

// What nearly all classes read.
constexpr std::string_view kUsualKeys = "vocab_size tie_word_embeddings";
constexpr std::string_view kRopeKeys =
    "rope_parameters rope_scaling rope_theta partial_rotary_factor "
    "original_max_position_embeddings";
// Classes whose layers are unlike each other read these.
constexpr std::string_view kUnlikeKeys = "layer_types num_kv_shared_layers";
constexpr std::string_view kLayerInputKeys =
    "hidden_size_per_layer_input vocab_size_per_layer_input";
constexpr std::string_view kUnlikeHeadKeys =
    "global_head_dim num_global_key_value_heads per_layer_config attention_k_eq_v "
    "use_double_wide_mlp";
constexpr std::string_view kStreamKeys =
    "altup_num_inputs altup_active_idx altup_correct_scale laurel_rank activation_sparsity_pattern";
// Classes some of whose layers share blocks read these.
constexpr std::string_view kSharedBlockKeys =
    "num_mem_blocks use_shared_attention_adapter adapter_rank use_mem_rope attention_head_dim "
    "attention_hidden_size hybrid_layer_ids";
constexpr std::string_view kDraftHeadKeys =
    "draft_vocab_size target_hidden_size norm_before_residual "
    "eagle_config.eagle_aux_hidden_state_layer_ids eagle_aux_hidden_state_layer_ids";
// Several heads that read the same state.
constexpr std::string_view kParallelHeadKeys =
    "medusa_num_heads medusa_num_layers num_heads num_hidden_layers hidden_size vocab_size "
    "truncated_vocab_size medusa_fc_bias original_lm_head";
// Classes whose layers are a time mix and a channel mix read these.
constexpr std::string_view kTimeMixKeys =
    "vocab_size hidden_size intermediate_size attention_hidden_size num_hidden_layers "
    "context_length max_position_embeddings layer_norm_epsilon rescale_every tie_word_embeddings";

// Besides that of the window's width.
std::string_view window_keys(const HfClass& hf) {
  switch (hf.windows) {
    case HfWindows::none:
      return {};
    case HfWindows::all:
      return {};
    case HfWindows::optional:
      return "use_sliding_window";
    case HfWindows::above:
      return "max_window_layers layer_types";
    case HfWindows::upper:
    case HfWindows::alternate:
      return "use_sliding_window max_window_layers layer_types";
    case HfWindows::never:
      return "layer_types";
    case HfWindows::local:
      return "window_size attention_types";
    case HfWindows::chunks:
      return "attention_chunk_size layer_types";
    case HfWindows::listed:
    case HfWindows::periodic:
    case HfWindows::periodic_or_none:
    case HfWindows::prefixed:
      return "sliding_window layer_types";
  }
  return {};
}

std::string_view expert_layer_keys(HfExpertLayers layers) {
  switch (layers) {
    case HfExpertLayers::all:
    case HfExpertLayers::after_first:
    case HfExpertLayers::halves:
      return {};
    case HfExpertLayers::by_step:
      return "decoder_sparse_step mlp_only_layers";
    case HfExpertLayers::interval:
      return "moe_layer_start_index moe_layer_end_index moe_layer_interval";
    case HfExpertLayers::types:
      return "mlp_layer_types";
    case HfExpertLayers::periodic:
      return "expert_layer_period expert_layer_offset";
    case HfExpertLayers::interleaved:
      return "moe_layers interleave_moe_layer_step";
  }
  return {};
}

// A config that is quantised, computed without a causal mask or different from layer to layer.
constexpr NeutralKey kAlwaysNeutral[] = {
    {"is_causal", " true "},          {"is_encoder_decoder", " false "},
    {"per_layer_config", " null "},   {"quantization_config", " null "},
    {"compression_config", " null "}, {"attention_chunk_size", " null "}};

template <class Claim>
void claim_experts(const HfExperts& experts, const Claim& claim) {
  for (const HfCount& count :
       {experts.count, experts.used, experts.width, experts.first_dense, experts.groups,
        experts.groups_used, experts.shared_count, experts.shared_width}) {
    claim(count.names);
  }
  for (const std::string_view key :
       {experts.normalises_key, experts.scale_key, experts.least_sum_key, experts.jitter_key,
        experts.groups_method_key, experts.gate_limit_key, experts.enabled_key, experts.score_key,
        experts.choice_bias_key, experts.norm_order_key, experts.latent_key,
        experts.shared_width_again, experts.combines_key, expert_layer_keys(experts.layers)}) {
    claim(key);
  }
}

template <class Claim>
void claim_state_space(const HfStateSpace& keys, const Claim& claim) {
  for (const HfNumber& number :
       {keys.state, keys.taps, keys.expand, keys.inner, keys.heads, keys.head_dim, keys.groups}) {
    claim(number.name);
  }
  for (const std::string_view key :
       {keys.rank, keys.input_eps, keys.bias, keys.out_bias, keys.conv_bias, keys.norm,
        keys.norm_first, keys.least_step, keys.act}) {
    claim(key);
  }
  if (keys.limits_steps) claim("time_step_limit");
  if (keys.layers == HfStateLayers::types || keys.layers == HfStateLayers::shared)
    claim("layer_types layers_block_type");
  if (keys.layers == HfStateLayers::attention) claim("attn_layer_indices");
  if (keys.layers == HfStateLayers::periodic) claim("attn_layer_period attn_layer_offset");
  if (keys.layers == HfStateLayers::halves) {
    claim("layer_types layers_block_type hybrid_override_pattern");
  }
  if (keys.multipliers) {
    claim(
        "ssm_in_multiplier ssm_out_multiplier ssm_multipliers mlp_multipliers "
        "attention_in_multiplier attention_out_multiplier key_multiplier");
  }
}

// Keys that fields of the class name.
template <class Claim>
void claim_named(const HfClass& hf, const Claim& claim) {
  for (const std::string_view key :
       {hf.act_key,           hf.norm_eps_key,    hf.qkv_bias,    hf.output_bias,
        hf.mlp_bias,          hf.head_bias,       hf.qk_norm_key, hf.period_key,
        hf.prefix_period_key, window_keys(hf),    hf.embed_scale, hf.residual_scale,
        hf.attn_scale,        hf.logit_scale,     hf.logit_width, hf.parallel_key,
        hf.clamp_key,         hf.layer_bases_key, hf.rotated_key, hf.rotated_dims_key,
        hf.unrotated_key}) {
    claim(key);
  }
  for (const std::string_view key :
       {hf.ff_without_experts, hf.position_type_key, hf.encoder_key, hf.inner_objects,
        hf.distance_buckets_key, hf.root_embed_key, hf.distance_reach_key, hf.gated_act_key,
        hf.glu_key, hf.output_dense_act, hf.output_dense_bias}) {
    claim(key);
  }
}

template <class Claim>
void claim_encoder(const BlockSpec& block, const HfClass& hf, const Claim& claim) {
  if (block.token_types && hf.has_token_types) claim("type_vocab_size");
  claim(hf.groups_key);
  if (hf.embedding_width > 0 || hf.whole_embeddings) claim("embedding_size");
  if (block.distances == Distances::products) {
    claim(
        "relative_attention max_relative_positions position_buckets pos_att_type share_att_key "
        "norm_rel_ebd position_biased_input");
  }
  claim(hf.classifier.act_key);
  claim(hf.classifier.pooling_key);
}

// What a field implies without naming it: the keys of layers that have something other
// than attention.
std::string_view mixer_keys(Mixers mixers) {
  switch (mixers) {
    case Mixers::short_conv:
      return "layer_types full_attn_idxs conv_L_cache conv_bias";
    case Mixers::delta_net:
      return "layer_types full_attention_interval linear_conv_kernel_dim linear_key_head_dim "
             "linear_value_head_dim linear_num_key_heads linear_num_value_heads";
    case Mixers::delta_or_latent:
      return "layer_types linear_attn_config linear_conv_kernel_dim linear_head_dim "
             "linear_num_heads";
    case Mixers::gated_recurrence:
      return "block_types lru_width conv1d_width logits_soft_cap attention_window_size "
             "sliding_window";
    case Mixers::matrix_memory:
      return "qk_dim_factor v_dim_factor ffn_proj_factor ffn_round_up_to_multiple_of gate_soft_cap "
             "output_logit_soft_cap eps";
    default:
      return {};
  }
}

}  // namespace

std::vector<std::string_view> claimed_keys(const FamilyRecord& family, const HfClass& hf) {
  std::vector<std::string_view> keys;
  const auto claim = [&](std::string_view list) {
    for (const std::string_view key : words_of(list)) {
      if (std::ranges::find(keys, key) == keys.end()) keys.push_back(key);
    }
  };
  if (family.block.mixers == Mixers::time_mix) {
    claim(kTimeMixKeys);
    return keys;
  }
  if (!family.block.has_layers) {
    claim(family.is_draft_head ? kParallelHeadKeys : "seq_length normalize");
    return keys;
  }
  claim(kUsualKeys);
  if (family.is_draft_head) claim(kDraftHeadKeys);
  if (hf.rope != HfRope::none && hf.rope != HfRope::counted) claim(kRopeKeys);
  if (hf.rope == HfRope::counted) claim("rotary_dim");
  const HfSizeKeys& sizes = hf.sizes;
  if (!hf.ignores_head_dim || hf.rope != HfRope::none) claim(sizes.head_dim);
  claim(sizes.decoder_layers);
  if (!hf.gated_act_key.empty()) claim("dense_act_fn is_gated_act");
  if (hf.divides_tied_logits) claim("scale_decoder_outputs");
  if (family.block.unlike_sides) claim("encoder decoder");
  for (const std::string_view list :
       {sizes.layers, sizes.width, sizes.heads, sizes.kv_heads, sizes.ff, sizes.positions,
        hf.width_again, hf.multi_query, hf.grouped_query, hf.alibi, hf.attention_object}) {
    claim(list);
  }
  if (hf.rope != HfRope::none) {
    claim(hf.rope_base_key);
    claim(hf.rotary_part_key);
  }
  claim_named(hf, claim);
  if (hf.windows != HfWindows::none && hf.windows != HfWindows::never) claim(hf.window_key);
  // Keys that a field implies without naming them.
  if (hf.block_keys) {
    claim(
        "block_ff_dim tie_embedding block_auto_adjust_ff_dim block_ffn_dim_multiplier "
        "block_multiple_of");
  }
  if (hf.short_tie_key) claim("tie_embedding");
  claim_encoder(family.block, hf, claim);
  if (hf.latent.kv_rank > 0) {
    claim("q_lora_rank kv_lora_rank qk_nope_head_dim qk_rope_head_dim v_head_dim");
    claim(hf.latent.rope_alias);
  }
  if (hf.indexer.n_chosen > 0) claim("index_n_heads index_head_dim index_topk layer_types");
  if (hf.indexer.shares) {
    claim("indexer_types index_topk_pattern index_topk_freq index_skip_topk_offset");
  }
  if (hf.growth == HfGrowth::keys) claim("attn_temperature_tuning floor_scale attn_scale");
  if (hf.linear_by_heads) claim("linear_allow_neg_eigval");
  claim(mixer_keys(family.block.mixers));
  claim_state_space(hf.state_space, claim);
  if (hf.rope == HfRope::by_kind) claim(hf.local_base_key);
  if (family.block.unlike_layers) claim(kUnlikeKeys);
  if (hf.layer_input > 0) claim(kLayerInputKeys);
  if (hf.global_head_dim > 0) claim(kUnlikeHeadKeys);
  if (hf.streams.n > 0) claim(kStreamKeys);
  if (family.block.shared_blocks) claim(kSharedBlockKeys);
  for (const std::string_view key :
       {hf.widths.heads, hf.widths.kv_heads, hf.widths.ff_factors, hf.widths.ff_divisor_key,
        hf.widths.group_key, hf.tie_key, hf.memory.heads}) {
    claim(key);
  }
  if (hf.query_scalar > 0) claim("query_pre_attn_scalar");
  if (family.attn_softcap.computed) claim("attn_logit_softcapping");
  if (family.final_softcap.computed) claim("final_logit_softcapping");
  if (hf.scales_attention) claim("scale_attn_weights scale_attn_by_inverse_layer_idx");
  claim_experts(hf.experts, claim);
  return keys;
}

FoundClass class_of_parallel_heads() { return find_hf_class("MedusaModel"); }

std::span<const NeutralKey> hf_neutral_keys() { return kAlwaysNeutral; }

std::string_view hf_keys_without_effect() {
  return " architectures model_type transformers_version auto_map _name_or_path name_or_path "
         "_commit_hash dtype torch_dtype _attn_implementation attn_implementation "
         "_attn_implementation_autoset _attn_implementation_internal _experts_implementation "
         "use_cache cache_implementation return_dict output_attentions output_hidden_states "
         "initializer_range initializer_factor attention_dropout hidden_dropout resid_pdrop "
         "embd_pdrop attn_pdrop residual_dropout embedding_dropout chunk_size_feed_forward "
         "bos_token_id eos_token_id pad_token_id sep_token_id decoder_start_token_id id2label "
         "label2id num_labels problem_type task_specific_params finetuning_task prefix "
         "tokenizer_class torchscript pruned_heads unsloth_version unsloth_fixed do_sample "
         "max_length temperature top_k top_p gradient_checkpointing is_decoder ";
}

std::string_view hf_scan_kinds() { return "mamba linear_attention"; }
std::string_view hf_attention_kinds() { return "attention full_attention"; }

std::string_view hf_rope_keys() {
  return " rope_theta rope_type type partial_rotary_factor factor original_max_position_embeddings "
         "attention_factor short_factor long_factor low_freq_factor high_freq_factor "
         "llama_4_scaling_beta beta_fast beta_slow mscale mscale_all_dim truncate ";
}

std::string_view hf_rope_keys_without_effect() {
  return " short_mscale long_mscale mrope_section mrope_interleaved max_position_embeddings ";
}

std::string_view hf_outer_keys() { return " text_config tie_word_embeddings "; }

std::string_view hf_outer_keys_without_effect() {
  return " vision_config mm_tokens_per_image boi_token_index eoi_token_index image_token_index "
         "boi_token_id eoi_token_id audio_config boa_token_id eoa_token_index audio_token_id "
         "image_token_id video_token_id vision_start_token_id "
         "vision_end_token_id language_model_only audio_soft_tokens_per_image "
         "vision_soft_tokens_per_image eoa_token_id ";
}

}  // namespace ruv
