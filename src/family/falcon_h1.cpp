// Falcon-H1: in every layer a selective scan by head beside attention. The config multiplies what
// most matrices read or give; GGUF files have that in their weights.
#include "family/families.h"

namespace ruv::family {
namespace {
constexpr HfClass kClasses[] = {
    {.model_type = "falcon_h1",
     .class_names = "FalconH1ForCausalLM FalconH1Model",
     .norm_eps = 1e-5,
     .max_positions = 8192,
     .n_heads = 32,
     .n_kv_heads = 8,
     .null_kv_heads = true,
     .qkv_bias = "attention_bias",
     .output_bias = "attention_bias",
     .mlp_bias = "mlp_bias",
     .state_space = {.state = {"mamba_d_state", 256},
                     .taps = {"mamba_d_conv", 4},
                     .expand = {"mamba_expand", 2},
                     .inner = {"mamba_d_ssm", 1024},
                     .heads = {"mamba_n_heads", 128},
                     .head_dim = {"mamba_d_head"},
                     .groups = {"mamba_n_groups", 1},
                     .bias = "mamba_proj_bias",
                     .out_bias = "projectors_bias",
                     .conv_bias = "mamba_conv_bias",
                     .norm = "mamba_rms_norm",
                     .norm_first = "mamba_norm_before_gate",
                     .limits_steps = true,
                     .multipliers = true},
     .embed_scale = "embedding_multiplier",
     .logit_scale = "lm_head_multiplier",
     .without_effect = "mamba_chunk_size num_logits_to_keep layer_types layers_block_type "
                       "time_step_min time_step_max time_step_floor time_step_rank"}};
constexpr TensorName kNames[] = {
    {"output_norm", "model.final_layernorm"},
    whole("blk.{}.ffn_norm", "model.layers.{}.pre_ff_layernorm.weight"),
    {"blk.{}.ffn_gate", "model.layers.{}.feed_forward.gate_proj"},
    {"blk.{}.ffn_up", "model.layers.{}.feed_forward.up_proj"},
    {"blk.{}.ffn_down", "model.layers.{}.feed_forward.down_proj"},
    {"blk.{}.ssm_in", "model.layers.{}.mamba.in_proj"},
    {.gguf = "blk.{}.ssm_conv1d", .hf = "model.layers.{}.mamba.conv1d", .depthwise = true},
    whole("blk.{}.ssm_dt.bias", "model.layers.{}.mamba.dt_bias"),
    whole("blk.{}.ssm_a", "model.layers.{}.mamba.A_log"),
    whole("blk.{}.ssm_d", "model.layers.{}.mamba.D"),
    {"blk.{}.ssm_norm", "model.layers.{}.mamba.norm"},
    {"blk.{}.ssm_out", "model.layers.{}.mamba.out_proj"},
};
}  // namespace

constinit const FamilyRecord falcon_h1{
    .name = "falcon-h1",
    .published = "Falcon-H1 0.5B to 34B",
    .block = {.mixers = Mixers::state_and_attention, .state_space = StateSpace::heads},
    .own_names = kNames,
    .classes = kClasses};
}  // namespace ruv::family
