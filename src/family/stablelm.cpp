// StableLM 2 and 3B: layer norms, a part of each head rotated, and in larger models attention and
// feed-forward beside each other, and a norm with its own weights for each head of queries and
// keys.
#include "family/families.h"

namespace ruv::family {
namespace {
constexpr TensorName kNames[] = {
    {"blk.{}.attn_q_norm.{}", "model.layers.{}.self_attn.q_layernorm.norms.{}"},
    {"blk.{}.attn_k_norm.{}", "model.layers.{}.self_attn.k_layernorm.norms.{}"},
};
constexpr HfClass kClasses[] = {{.model_type = "stablelm",
                                 .class_names = "StableLmForCausalLM StableLmModel",
                                 .norm_eps_key = "layer_norm_eps",
                                 .norm_eps = 1e-5,
                                 .max_positions = 4096,
                                 .n_heads = 32,
                                 .n_kv_heads = 32,
                                 .ignores_head_dim = true,
                                 .rope = HfRope::partial,
                                 .rotary_part = 0.25,
                                 .qkv_bias = "use_qkv_bias",
                                 .qk_norm_key = "qk_layernorm",
                                 .parallel_key = "use_parallel_residual"}};
}  // namespace

constinit const FamilyRecord stablelm{.name = "stablelm",
                                      .published =
                                          "StableLM 3B 4E1T, StableLM 2 1.6B and 12B, Stable "
                                          "Code 3B",
                                      .block = {.norm = Norm::layer,
                                                .shared_norm = true,
                                                .qk_norm = QkNorm::own_heads,
                                                .qk_norm_optional = true,
                                                .qk_norm_biases = false},
                                      .gguf_keys = "use_parallel_residual",
                                      .own_names = kNames,
                                      .classes = kClasses};
}  // namespace ruv::family
