// SmolLM3: Llama without positions in every fourth layer.
#include "family/families.h"

namespace ruv::family {
namespace {
constexpr NeutralKey kNeutral[] = {{"use_sliding_window", "false"}};
constexpr HfClass kClasses[] = {{.model_type = "smollm3",
                                 .class_names = "SmolLM3ForCausalLM SmolLM3Model",
                                 .max_positions = 32768,
                                 .n_heads = 16,
                                 .n_kv_heads = 4,
                                 .null_kv_heads = true,
                                 .windows = HfWindows::never,
                                 .rope_base = 2e6,
                                 .qkv_bias = "attention_bias",
                                 .output_bias = "attention_bias",
                                 .mlp_bias = "mlp_bias",
                                 .tied = true,
                                 .rotated_key = "no_rope_layers",
                                 .unrotated_key = "no_rope_layer_interval",
                                 .without_effect = "sliding_window",
                                 .neutral = kNeutral}};
}  // namespace

constinit const FamilyRecord smollm3{.name = "smollm3",
                                     .published = "SmolLM3 3B",
                                     .block = {.unrotated_period = 4},
                                     .neighbour_rows = true,
                                     .classes = kClasses};
}  // namespace ruv::family
