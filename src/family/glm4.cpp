// GLM-4-0414: GLM-4 with norms before and after each half of a block.
#include "family/families.h"

namespace ruv::family {
namespace {
constexpr HfClass kClasses[] = {{.model_type = "glm4",
                                 .class_names = "Glm4ForCausalLM Glm4Model",
                                 .norm_eps = 1.5625e-07,
                                 .max_positions = 131072,
                                 .n_heads = 32,
                                 .n_kv_heads = 2,
                                 .head_dim = 128,
                                 .rope = HfRope::partial,
                                 .rotary_part = 0.5,
                                 .qkv_bias = "attention_bias",
                                 .qkv_bias_by_default = true}};
constexpr TensorName kNames[] = {
    {"blk.{}.post_attention_norm", "model.layers.{}.post_self_attn_layernorm"},
    {"blk.{}.ffn_norm", "model.layers.{}.post_attention_layernorm"},
    {"blk.{}.post_ffw_norm", "model.layers.{}.post_mlp_layernorm"},
};
}  // namespace

constinit const FamilyRecord glm4{.name = "glm4",
                                  .published = "GLM-4 0414 9B and 32B, GLM-Z1",
                                  .block = {.norm_place = NormPlace::sandwich},
                                  .neighbour_pairs = true,
                                  .fused_gate_up = true,
                                  .own_names = kNames,
                                  .classes = kClasses};
}  // namespace ruv::family
