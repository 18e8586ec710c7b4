// OLMo 2 and 3: norms after attention and feed-forward only, and over whole rows of q and k. OLMo 3
// has windows, whose layers keep plain positions where the others are scaled.
#include "family/families.h"

namespace ruv::family {
namespace {
constexpr HfClass kClasses[] = {{.model_type = "olmo2",
                                 .class_names = "Olmo2ForCausalLM Olmo2Model",
                                 .norm_eps = 1e-5,
                                 .max_positions = 2048,
                                 .null_kv_heads = true,
                                 .qkv_bias = "attention_bias",
                                 .output_bias = "attention_bias"},
                                {.model_type = "olmo3",
                                 .class_names = "Olmo3ForCausalLM Olmo3Model",
                                 .norm_eps = 1e-5,
                                 .max_positions = 2048,
                                 .null_kv_heads = true,
                                 .windows = HfWindows::periodic,
                                 .window = 4096,
                                 .rope = HfRope::by_kind,
                                 .rope_base = 500000,
                                 .local_base_key = "",
                                 .local_base = 500000,
                                 .qkv_bias = "attention_bias",
                                 .output_bias = "attention_bias"}};
}

constinit const FamilyRecord olmo2{.name = "olmo2",
                                   .published = "OLMo 2 1B to 32B, OLMo 3 7B and 32B",
                                   .block = {.norm_place = NormPlace::post,
                                             .qk_norm = QkNorm::rows,
                                             .windows = Windows::periodic,
                                             .window_period = 4},
                                   .plain_local_rope = true,
                                   .classes = kClasses};
}  // namespace ruv::family
