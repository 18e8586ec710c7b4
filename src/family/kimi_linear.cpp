// Kimi Linear: linear attention by the gated delta rule, with a decay of each channel, in most
// layers, latent attention without positions in the others, and experts as DeepSeek V3's.
#include "family/families.h"

namespace ruv::family {
namespace {
// Published configs have these beside the keys of the class.
constexpr NeutralKey kNeutral[] = {{"mla_use_nope", " true "},
                                   {"moe_layer_freq", " 1 "},
                                   {"moe_router_activation_func", " \"sigmoid\" "}};

constexpr HfClass kClasses[] = {
    {.model_type = "kimi_linear",
     .class_names = "KimiLinearForCausalLM KimiLinearModel",
     .sizes = {.positions = "model_max_length max_position_embeddings"},
     .norm_eps = 1e-5,
     .max_positions = 1048576,
     .n_heads = 32,
     .n_kv_heads = 32,
     .null_kv_heads = true,
     .ignores_head_dim = true,
     .latent = {.kv_rank = 512, .plain_dim = 128, .rope_dim = 64, .value_dim = 128},
     .rope = HfRope::none,
     .qkv_bias = "attention_bias",
     .output_bias = "attention_bias",
     .experts = {.count = {"num_experts num_local_experts", 256},
                 .used = {"num_experts_per_token num_experts_per_tok", 8},
                 .width = {"moe_intermediate_size", 1024},
                 .layers = HfExpertLayers::types,
                 .first_dense = {"first_k_dense_replace", 1},
                 .normalises_key = "moe_renormalize norm_topk_prob",
                 .scale_key = "routed_scaling_factor",
                 .scale = 2.446,
                 .groups = {"num_expert_group n_group", 1},
                 .groups_used = {"topk_group", 1},
                 .sigmoid = true,
                 .choice_bias = true,
                 .shared_count = {"num_shared_experts n_shared_experts", 1}},
     .without_effect = "head_dim qk_head_dim output_router_logits pretraining_tp rope_theta "
                       "rope_scaling rope_parameters use_grouped_topk num_nextn_predict_layers",
     .neutral = kNeutral}};

// Filters and experts may be in one tensor for all of a kind, as the class has them in memory.
constexpr TensorName kNames[] = {
    {.gguf = "blk.{}.ssm_conv1d", .hf = "model.layers.{}.self_attn.conv1d", .depthwise = true},
    {.gguf = "blk.{}.ssm_conv1d_q", .hf = "model.layers.{}.self_attn.q_conv1d", .depthwise = true},
    {.gguf = "blk.{}.ssm_conv1d_k", .hf = "model.layers.{}.self_attn.k_conv1d", .depthwise = true},
    {.gguf = "blk.{}.ssm_conv1d_v", .hf = "model.layers.{}.self_attn.v_conv1d", .depthwise = true},
    {"blk.{}.ssm_f_a", "model.layers.{}.self_attn.f_a_proj"},
    {"blk.{}.ssm_f_b", "model.layers.{}.self_attn.f_b_proj"},
    whole("blk.{}.ssm_dt.bias", "model.layers.{}.self_attn.dt_bias"),
    whole("blk.{}.ssm_a", "model.layers.{}.self_attn.A_log"),
    {"blk.{}.ssm_f_a", "model.layers.{}.self_attn.forget_gate.f_a_proj"},
    {"blk.{}.ssm_f_b", "model.layers.{}.self_attn.forget_gate.f_b_proj"},
    whole("blk.{}.ssm_dt.bias", "model.layers.{}.self_attn.forget_gate.dt_bias"),
    whole("blk.{}.ssm_a", "model.layers.{}.self_attn.forget_gate.A_log"),
    {"blk.{}.ssm_beta", "model.layers.{}.self_attn.b_proj"},
    {"blk.{}.ssm_g_a", "model.layers.{}.self_attn.g_a_proj"},
    {"blk.{}.ssm_g_b", "model.layers.{}.self_attn.g_b_proj"},
    {"blk.{}.ssm_norm", "model.layers.{}.self_attn.o_norm"},
    {"blk.{}.ffn_gate_inp", "model.layers.{}.block_sparse_moe.gate"},
    whole("blk.{}.exp_probs_b.bias",
          "model.layers.{}.block_sparse_moe.gate.e_score_correction_bias"),
    {"blk.{}.ffn_gate.{}", "model.layers.{}.block_sparse_moe.experts.{}.w1"},
    {"blk.{}.ffn_up.{}", "model.layers.{}.block_sparse_moe.experts.{}.w3"},
    {"blk.{}.ffn_down.{}", "model.layers.{}.block_sparse_moe.experts.{}.w2"},
    {"blk.{}.ffn_gate_shexp", "model.layers.{}.block_sparse_moe.shared_experts.gate_proj"},
    {"blk.{}.ffn_up_shexp", "model.layers.{}.block_sparse_moe.shared_experts.up_proj"},
    {"blk.{}.ffn_down_shexp", "model.layers.{}.block_sparse_moe.shared_experts.down_proj"},
};
}  // namespace

constinit const FamilyRecord kimi_linear{
    .name = "kimi-linear",
    .published = "Kimi Linear 48B-A3B",
    .block = {.mixers = Mixers::delta_or_latent, .positions = Positions::none},
    .experts = {.computed = true,
                .score = RouterScore::sigmoid,
                .group_rank = GroupRank::best_two,
                .sum_added = 1e-20F},
    .gguf_keys =
        "attention.q_lora_rank attention.kv_lora_rank attention.key_length_mla "
        "attention.value_length_mla",
    .own_names = kNames,
    .classes = kClasses};
}  // namespace ruv::family
