// Mamba: selective scans whose columns have steps of their own, and nothing else. Falcon-Mamba
// normalises what steps, b and c are made of.
#include "family/families.h"

namespace ruv::family {
namespace {
constexpr HfSizeKeys kSizes = {.heads = "", .kv_heads = "", .ff = "", .positions = ""};
constexpr HfStateSpace kScan = {.state = {"state_size", 16},
                                .taps = {"conv_kernel", 4},
                                .expand = {"expand", 2},
                                .inner = {"intermediate_size"},
                                .rank = "time_step_rank",
                                .bias = "use_bias",
                                .conv_bias = "use_conv_bias"};
constexpr HfStateSpace kNormalised = {.state = kScan.state,
                                      .taps = kScan.taps,
                                      .expand = kScan.expand,
                                      .inner = kScan.inner,
                                      .rank = kScan.rank,
                                      .input_eps = "mixer_rms_eps",
                                      .input_eps_default = 1e-6,
                                      .bias = kScan.bias,
                                      .conv_bias = kScan.conv_bias};
// Weights are drawn by these before training. The key that must be false transformers 5 applies to
// weights that it has loaded, too.
constexpr std::string_view kWithoutEffect =
    "residual_in_fp32 time_step_scale time_step_min time_step_max "
    "time_step_init_scheme time_step_floor use_mambapy use_falcon_mambapy use_associative_scan "
    "layer_types _is_quantized";
constexpr NeutralKey kNeutral[] = {{"rescale_prenorm_residual", " false "}};
constexpr HfClass kClasses[] = {{.model_type = "mamba",
                                 .class_names = "MambaForCausalLM MambaModel",
                                 .sizes = kSizes,
                                 .norm_eps_key = "layer_norm_epsilon",
                                 .norm_eps = 1e-5,
                                 .max_positions = 1 << 20,
                                 .ignores_head_dim = true,
                                 .rope = HfRope::none,
                                 .tied = true,
                                 .state_space = kScan,
                                 .without_effect = kWithoutEffect,
                                 .neutral = kNeutral},
                                {.model_type = "falcon_mamba",
                                 .class_names = "FalconMambaForCausalLM FalconMambaModel",
                                 .sizes = kSizes,
                                 .norm_eps_key = "layer_norm_epsilon",
                                 .norm_eps = 1e-5,
                                 .max_positions = 1 << 20,
                                 .ignores_head_dim = true,
                                 .rope = HfRope::none,
                                 .tied = true,
                                 .state_space = kNormalised,
                                 .without_effect = kWithoutEffect,
                                 .neutral = kNeutral}};
constexpr TensorName kNames[] = {
    {"token_embd", "backbone.embeddings"},
    {"token_embd", "backbone.embedding"},
    {"output_norm", "backbone.norm_f"},
    {"output", "lm_head"},
    {"blk.{}.attn_norm", "backbone.layers.{}.norm"},
    {"blk.{}.ssm_in", "backbone.layers.{}.mixer.in_proj"},
    {.gguf = "blk.{}.ssm_conv1d", .hf = "backbone.layers.{}.mixer.conv1d", .depthwise = true},
    {"blk.{}.ssm_x", "backbone.layers.{}.mixer.x_proj"},
    {"blk.{}.ssm_dt", "backbone.layers.{}.mixer.dt_proj"},
    whole("blk.{}.ssm_a", "backbone.layers.{}.mixer.A_log"),
    whole("blk.{}.ssm_d", "backbone.layers.{}.mixer.D"),
    {"blk.{}.ssm_out", "backbone.layers.{}.mixer.out_proj"},
};
}  // namespace

constinit const FamilyRecord mamba{.name = "mamba",
                                   .published = "Mamba 130M to 2.8B, Falcon-Mamba 7B",
                                   .block = {.mixers = Mixers::state_space,
                                             .state_space = StateSpace::columns,
                                             .positions = Positions::none},
                                   .usual_names = false,
                                   .own_names = kNames,
                                   .base_prefix = "backbone.",
                                   .classes = kClasses};
}  // namespace ruv::family
