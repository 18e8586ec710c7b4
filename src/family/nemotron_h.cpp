// Nemotron-H: layers that are one half of a block each, a selective scan by head, attention without
// positions, a feed-forward or experts.
#include "family/families.h"

namespace ruv::family {
namespace {
constexpr HfClass kClasses[] = {
    {.model_type = "nemotron_h",
     .class_names = "NemotronHForCausalLM NemotronHModel",
     .act_key = "mlp_hidden_act",
     .norm_eps_key = "layer_norm_epsilon",
     .norm_eps = 1e-5,
     .max_positions = 4096,
     .n_heads = 32,
     .n_kv_heads = 8,
     .null_kv_heads = true,
     .head_dim = 128,
     .rope = HfRope::none,
     .mlp_bias = "mlp_bias",
     .with_experts = &nemotron_h_moe,
     .experts = {.count = {"n_routed_experts num_local_experts", 8},
                 .used = {"num_experts_per_tok", 2},
                 .width = {"moe_intermediate_size", 7688},
                 .latent_key = "moe_latent_size",
                 .layers = HfExpertLayers::halves,
                 .normalises_key = "norm_topk_prob",
                 .scale_key = "routed_scaling_factor",
                 .groups = {"n_group", 1},
                 .groups_used = {"topk_group", 1},
                 .sigmoid = true,
                 .choice_bias = true,
                 .shared_width = {"moe_shared_expert_intermediate_size", 7688},
                 .always_shared = true},
     .state_space = {.state = {"ssm_state_size", 128},
                     .taps = {"conv_kernel", 4},
                     .heads = {"mamba_num_heads", 128},
                     .head_dim = {"mamba_head_dim", 64},
                     .groups = {"n_groups", 8},
                     .bias = "use_bias",
                     .conv_bias = "use_conv_bias",
                     .least_step = "time_step_min",
                     .act = "mamba_hidden_act",
                     .layers = HfStateLayers::halves},
     .without_effect =
         "expand time_step_max time_step_limit time_step_floor chunk_size mamba_proj_bias "
         "mamba_ssm_cache_dtype use_mamba_kernels residual_in_fp32 attention_bias "
         "num_logits_to_keep output_router_logits sliding_window n_shared_experts "
         "moe_shared_expert_overlap "
         "num_nextn_predict_layers mtp_layers_block_type mtp_hybrid_override_pattern "
         "rescale_prenorm_residual"}};

// A layer is one half of a block.
constexpr BlockSpec kBlock = {.mixers = Mixers::state_or_attention,
                              .state_space = StateSpace::heads,
                              .one_half = true,
                              .positions = Positions::none,
                              .gated = false,
                              .act = Act::relu2};

// Published files call the decoder "backbone", transformers calls it "model".
constexpr TensorName kNames[] = {
    {"token_embd", "backbone.embeddings"},
    {"output_norm", "backbone.norm_f"},
    {"blk.{}.attn_norm", "backbone.layers.{}.norm"},
    {"blk.{}.attn_q", "backbone.layers.{}.mixer.q_proj"},
    {"blk.{}.attn_k", "backbone.layers.{}.mixer.k_proj"},
    {"blk.{}.attn_v", "backbone.layers.{}.mixer.v_proj"},
    {"blk.{}.attn_output", "backbone.layers.{}.mixer.o_proj"},
    {"blk.{}.ffn_up", "backbone.layers.{}.mixer.up_proj"},
    {"blk.{}.ffn_down", "backbone.layers.{}.mixer.down_proj"},
    {"blk.{}.ssm_in", "backbone.layers.{}.mixer.in_proj"},
    {.gguf = "blk.{}.ssm_conv1d", .hf = "backbone.layers.{}.mixer.conv1d", .depthwise = true},
    whole("blk.{}.ssm_dt.bias", "backbone.layers.{}.mixer.dt_bias"),
    whole("blk.{}.ssm_a", "backbone.layers.{}.mixer.A_log"),
    whole("blk.{}.ssm_d", "backbone.layers.{}.mixer.D"),
    {"blk.{}.ssm_norm", "backbone.layers.{}.mixer.norm"},
    {"blk.{}.ssm_out", "backbone.layers.{}.mixer.out_proj"},
    {"blk.{}.ffn_gate_inp", "backbone.layers.{}.mixer.gate"},
    whole("blk.{}.exp_probs_b.bias", "backbone.layers.{}.mixer.gate.e_score_correction_bias"),
    {"blk.{}.ffn_up.{}", "backbone.layers.{}.mixer.experts.{}.up_proj"},
    {"blk.{}.ffn_down.{}", "backbone.layers.{}.mixer.experts.{}.down_proj"},
    {.gguf = "blk.{}.ffn_up_exps.weight",
     .hf = "backbone.layers.{}.mixer.experts.up_proj",
     .whole = true,
     .stack = ExpertStack::stacked},
    {.gguf = "blk.{}.ffn_down_exps.weight",
     .hf = "backbone.layers.{}.mixer.experts.down_proj",
     .whole = true,
     .stack = ExpertStack::stacked},
    {"blk.{}.ffn_latent_down", "backbone.layers.{}.mixer.fc1_latent_proj"},
    {"blk.{}.ffn_latent_up", "backbone.layers.{}.mixer.fc2_latent_proj"},
    {"blk.{}.ffn_up_shexp", "backbone.layers.{}.mixer.shared_experts.up_proj"},
    {"blk.{}.ffn_down_shexp", "backbone.layers.{}.mixer.shared_experts.down_proj"},
    {"token_embd", "model.embeddings"},
    {"output_norm", "model.norm_f"},
    {"blk.{}.attn_norm", "model.layers.{}.norm"},
    {"blk.{}.attn_q", "model.layers.{}.mixer.q_proj"},
    {"blk.{}.attn_k", "model.layers.{}.mixer.k_proj"},
    {"blk.{}.attn_v", "model.layers.{}.mixer.v_proj"},
    {"blk.{}.attn_output", "model.layers.{}.mixer.o_proj"},
    {"blk.{}.ffn_up", "model.layers.{}.mixer.up_proj"},
    {"blk.{}.ffn_down", "model.layers.{}.mixer.down_proj"},
    {"blk.{}.ssm_in", "model.layers.{}.mixer.in_proj"},
    {.gguf = "blk.{}.ssm_conv1d", .hf = "model.layers.{}.mixer.conv1d", .depthwise = true},
    whole("blk.{}.ssm_dt.bias", "model.layers.{}.mixer.dt_bias"),
    whole("blk.{}.ssm_a", "model.layers.{}.mixer.A_log"),
    whole("blk.{}.ssm_d", "model.layers.{}.mixer.D"),
    {"blk.{}.ssm_norm", "model.layers.{}.mixer.norm"},
    {"blk.{}.ssm_out", "model.layers.{}.mixer.out_proj"},
    {"blk.{}.ffn_gate_inp", "model.layers.{}.mixer.gate"},
    whole("blk.{}.exp_probs_b.bias", "model.layers.{}.mixer.gate.e_score_correction_bias"),
    {"blk.{}.ffn_up.{}", "model.layers.{}.mixer.experts.{}.up_proj"},
    {"blk.{}.ffn_down.{}", "model.layers.{}.mixer.experts.{}.down_proj"},
    {.gguf = "blk.{}.ffn_up_exps.weight",
     .hf = "model.layers.{}.mixer.experts.up_proj",
     .whole = true,
     .stack = ExpertStack::stacked},
    {.gguf = "blk.{}.ffn_down_exps.weight",
     .hf = "model.layers.{}.mixer.experts.down_proj",
     .whole = true,
     .stack = ExpertStack::stacked},
    {"blk.{}.ffn_latent_down", "model.layers.{}.mixer.fc1_latent_proj"},
    {"blk.{}.ffn_latent_up", "model.layers.{}.mixer.fc2_latent_proj"},
    {"blk.{}.ffn_up_shexp", "model.layers.{}.mixer.shared_experts.up_proj"},
    {"blk.{}.ffn_down_shexp", "model.layers.{}.mixer.shared_experts.down_proj"},
    {"output", "lm_head"},
};
}  // namespace

constinit const FamilyRecord nemotron_h{.name = "nemotron_h",
                                        .published =
                                            "Nemotron-H 4B to 56B, Nemotron Nano 9B and "
                                            "12B v2",
                                        .block = kBlock,
                                        .usual_names = false,
                                        .own_names = kNames,
                                        .classes = kClasses};

// GGUF files of models with experts have a name of their own. Experts have no gates, and may read
// and give rows of a width of their own.
constinit const FamilyRecord nemotron_h_moe{
    .name = "nemotron_h_moe",
    .published = "Nemotron 3 Nano 30B-A3B, Nemotron 3 Super",
    .block = kBlock,
    .experts = {.computed = true,
                .score = RouterScore::sigmoid,
                .group_rank = GroupRank::best_two,
                .sum_added = 1e-20F},
    .usual_names = false,
    .own_names = kNames};
}  // namespace ruv::family
