// Mamba 2: selective scans whose heads have steps of their own, and nothing else.
#include "family/families.h"

namespace ruv::family {
namespace {
// Weights are drawn by it before training; transformers 5 applies it to weights that it has loaded,
// too.
constexpr NeutralKey kNeutral[] = {{"rescale_prenorm_residual", " false "}};
constexpr HfClass kClasses[] = {{.model_type = "mamba2",
                                 .class_names = "Mamba2ForCausalLM Mamba2Model",
                                 .sizes = {.heads = "", .kv_heads = "", .ff = "", .positions = ""},
                                 .norm_eps_key = "layer_norm_epsilon",
                                 .norm_eps = 1e-5,
                                 .max_positions = 1 << 20,
                                 .ignores_head_dim = true,
                                 .rope = HfRope::none,
                                 .state_space = {.state = {"state_size", 128},
                                                 .taps = {"conv_kernel", 4},
                                                 .expand = {"expand", 2},
                                                 .heads = {"num_heads", 128},
                                                 .head_dim = {"head_dim", 64},
                                                 .groups = {"n_groups", 8},
                                                 .bias = "use_bias",
                                                 .conv_bias = "use_conv_bias",
                                                 .limits_steps = true},
                                 .without_effect =
                                     "residual_in_fp32 time_step_rank time_step_min "
                                     "time_step_max time_step_floor chunk_size layer_types",
                                 .neutral = kNeutral}};
constexpr TensorName kNames[] = {
    {"token_embd", "backbone.embeddings"},
    {"output_norm", "backbone.norm_f"},
    {"output", "lm_head"},
    {"blk.{}.attn_norm", "backbone.layers.{}.norm"},
    {"blk.{}.ssm_in", "backbone.layers.{}.mixer.in_proj"},
    {.gguf = "blk.{}.ssm_conv1d", .hf = "backbone.layers.{}.mixer.conv1d", .depthwise = true},
    whole("blk.{}.ssm_dt.bias", "backbone.layers.{}.mixer.dt_bias"),
    whole("blk.{}.ssm_a", "backbone.layers.{}.mixer.A_log"),
    whole("blk.{}.ssm_d", "backbone.layers.{}.mixer.D"),
    {"blk.{}.ssm_norm", "backbone.layers.{}.mixer.norm"},
    {"blk.{}.ssm_out", "backbone.layers.{}.mixer.out_proj"},
};
}  // namespace

constinit const FamilyRecord mamba2{.name = "mamba2",
                                    .published = "Mamba 2 130M to 2.7B, Mamba-Codestral 7B",
                                    .block = {.mixers = Mixers::state_space,
                                              .state_space = StateSpace::heads,
                                              .positions = Positions::none},
                                    .usual_names = false,
                                    .own_names = kNames,
                                    .base_prefix = "backbone.",
                                    .classes = kClasses};
}  // namespace ruv::family
