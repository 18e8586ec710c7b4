// OLMo 2: norms after attention and feed-forward only, and over whole rows of q and k.
#include "family/families.h"

namespace ruv::family {
namespace {
constexpr HfClass kClasses[] = {{.model_type = "olmo2",
                                 .class_names = "Olmo2ForCausalLM Olmo2Model",
                                 .norm_eps = 1e-5,
                                 .max_positions = 2048,
                                 .null_kv_heads = true,
                                 .qkv_bias = "attention_bias",
                                 .output_bias = "attention_bias"}};
}

constinit const FamilyRecord olmo2{
    .name = "olmo2",
    .published = "OLMo 2 1B to 32B",
    .block = {.norm_place = NormPlace::post, .qk_norm = QkNorm::rows},
    .classes = kClasses};
}  // namespace ruv::family
