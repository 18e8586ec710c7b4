// Command R7B and A: Command R with windows; only windowed layers have positions.
#include "family/families.h"

namespace ruv::family {
namespace {
constexpr HfClass kClasses[] = {{.model_type = "cohere2",
                                 .class_names = "Cohere2ForCausalLM Cohere2Model",
                                 .norm_eps_key = "layer_norm_eps",
                                 .norm_eps = 1e-5,
                                 .max_positions = 8192,
                                 .null_kv_heads = true,
                                 .ignores_head_dim = true,
                                 .windows = HfWindows::periodic,
                                 .window = 4096,
                                 .period_key = "sliding_window_pattern",
                                 .qkv_bias = "attention_bias",
                                 .output_bias = "attention_bias",
                                 .tied = true,
                                 .logit_scale = "logit_scale",
                                 .logit_scale_default = 0.0625}};
}

constinit const FamilyRecord cohere2{.name = "cohere2",
                                     .published = "Command R7B, Command A",
                                     .block = {.norm = Norm::layer,
                                               .norm_biases = false,
                                               .parallel = true,
                                               .shared_norm = true,
                                               .windows = Windows::periodic,
                                               .window_period = 4,
                                               .only_windows_rotate = true},
                                     .neighbour_pairs = true,
                                     .gguf_keys = "logit_scale",
                                     .classes = kClasses};
}  // namespace ruv::family
