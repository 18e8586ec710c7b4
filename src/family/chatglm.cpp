// GLM-4 (9B, of 2024): Llama with half of each head rotated, in pairs of neighbours, and a fused
// feed-forward.
#include "family/families.h"

namespace ruv::family {
namespace {
constexpr HfClass kClasses[] = {{.model_type = "glm",
                                 .class_names = "GlmForCausalLM GlmModel",
                                 .norm_eps = 1.5625e-07,
                                 .max_positions = 131072,
                                 .n_heads = 32,
                                 .n_kv_heads = 2,
                                 .head_dim = 128,
                                 .rope = HfRope::partial,
                                 .rotary_part = 0.5,
                                 .qkv_bias = "attention_bias",
                                 .qkv_bias_by_default = true}};
}

constinit const FamilyRecord chatglm{.name = "chatglm",
                                     .published = "GLM-4 9B, GLM-Edge",
                                     .neighbour_pairs = true,
                                     .fused_gate_up = true,
                                     .classes = kClasses};
}  // namespace ruv::family
