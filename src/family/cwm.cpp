// Code World Model: Llama with windows in all but the first of every four layers.
#include "family/families.h"

namespace ruv::family {
namespace {
constexpr HfClass kClasses[] = {{.model_type = "cwm",
                                 .class_names = "CwmForCausalLM CwmModel",
                                 .norm_eps = 1e-5,
                                 .max_positions = 131072,
                                 .n_heads = 48,
                                 .n_kv_heads = 8,
                                 .head_dim = 128,
                                 .windows = HfWindows::periodic,
                                 .window = 8192,
                                 .default_rope = R"({"rope_type": "llama3", "factor": 16.0,
                                                    "high_freq_factor": 4.0,
                                                    "low_freq_factor": 1.0,
                                                    "original_max_position_embeddings": 8192,
                                                    "rope_theta": 1000000.0})",
                                 .rope_base = 1e6,
                                 .rotary_part_key = "",
                                 .mlp_bias = "mlp_bias",
                                 .without_effect = "pretraining_tp"}};
}

constinit const FamilyRecord cwm{
    .name = "cwm",
    .published = "Code World Model 32B",
    .block = {.windows = Windows::periodic, .window_period = 4, .full_first = true},
    .classes = kClasses};
}  // namespace ruv::family
