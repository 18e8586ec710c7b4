// Jamba: selective scans by column, whose inputs are normalised, in most layers, attention without
// positions in the others, and experts in every second one.
#include "family/families.h"

namespace ruv::family {
namespace {
constexpr HfClass kClasses[] = {
    {.model_type = "jamba",
     .class_names = "JambaForCausalLM JambaModel",
     .max_positions = 262144,
     .n_heads = 32,
     .n_kv_heads = 8,
     .null_kv_heads = true,
     .rope = HfRope::none,
     .experts = {.count = {"num_experts num_local_experts", 16},
                 .fewest = 2,
                 .used = {"num_experts_per_tok", 2},
                 .layers = HfExpertLayers::periodic,
                 .normalises = false},
     .state_space = {.state = {"mamba_d_state", 16},
                     .taps = {"mamba_d_conv", 4},
                     .expand = {"mamba_expand", 2},
                     .rank = "mamba_dt_rank",
                     .bias = "mamba_proj_bias",
                     .conv_bias = "mamba_conv_bias",
                     .layers = HfStateLayers::periodic},
     .without_effect = "use_mamba_kernels use_mambapy use_associative_scan output_router_logits "
                       "router_aux_loss_coef num_logits_to_keep layer_types layers_block_type "
                       "layers_num_experts _is_quantized"}};
constexpr TensorName kNames[] = {
    {"output_norm", "model.final_layernorm"},
    {"blk.{}.ffn_norm", "model.layers.{}.pre_ff_layernorm"},
    {"blk.{}.ffn_gate", "model.layers.{}.feed_forward.gate_proj"},
    {"blk.{}.ffn_up", "model.layers.{}.feed_forward.up_proj"},
    {"blk.{}.ffn_down", "model.layers.{}.feed_forward.down_proj"},
    {"blk.{}.ffn_gate_inp", "model.layers.{}.feed_forward.router"},
    {"blk.{}.ffn_gate.{}", "model.layers.{}.feed_forward.experts.{}.gate_proj"},
    {"blk.{}.ffn_up.{}", "model.layers.{}.feed_forward.experts.{}.up_proj"},
    {"blk.{}.ffn_down.{}", "model.layers.{}.feed_forward.experts.{}.down_proj"},
    {"blk.{}.ssm_in", "model.layers.{}.mamba.in_proj"},
    {.gguf = "blk.{}.ssm_conv1d", .hf = "model.layers.{}.mamba.conv1d", .depthwise = true},
    {"blk.{}.ssm_x", "model.layers.{}.mamba.x_proj"},
    {"blk.{}.ssm_dt", "model.layers.{}.mamba.dt_proj"},
    {"blk.{}.ssm_dt_norm", "model.layers.{}.mamba.dt_layernorm"},
    {"blk.{}.ssm_b_norm", "model.layers.{}.mamba.b_layernorm"},
    {"blk.{}.ssm_c_norm", "model.layers.{}.mamba.c_layernorm"},
    whole("blk.{}.ssm_a", "model.layers.{}.mamba.A_log"),
    whole("blk.{}.ssm_d", "model.layers.{}.mamba.D"),
    {"blk.{}.ssm_out", "model.layers.{}.mamba.out_proj"},
};
}  // namespace

constinit const FamilyRecord jamba{.name = "jamba",
                                   .published = "Jamba Mini and Large, Jamba Reasoning 3B",
                                   .block = {.mixers = Mixers::state_or_attention,
                                             .state_space = StateSpace::columns,
                                             .scan_norms = true,
                                             .positions = Positions::none},
                                   .experts = {.computed = true, .normalises = false},
                                   .own_names = kNames,
                                   .classes = kClasses};
}  // namespace ruv::family
