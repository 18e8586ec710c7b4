// Phi-1, 1.5 and 2: layer norm, biases everywhere, a plain feed-forward beside attention, a part of
// each head rotated, and in some models norms of single heads.
#include "family/families.h"

namespace ruv::family {
namespace {
constexpr TensorName kNames[] = {
    {"output_norm", "model.final_layernorm"},
    {"blk.{}.attn_q_norm", "model.layers.{}.self_attn.q_layernorm"},
    {"blk.{}.attn_k_norm", "model.layers.{}.self_attn.k_layernorm"},
    {"blk.{}.attn_output", "model.layers.{}.self_attn.dense"},
    {"blk.{}.ffn_up", "model.layers.{}.mlp.fc1"},
    {"blk.{}.ffn_down", "model.layers.{}.mlp.fc2"},
};
constexpr HfClass kClasses[] = {{.model_type = "phi",
                                 .class_names = "PhiForCausalLM PhiModel",
                                 .act = "gelu_new",
                                 .norm_eps_key = "layer_norm_eps",
                                 .norm_eps = 1e-5,
                                 .max_positions = 2048,
                                 .null_kv_heads = true,
                                 .rope = HfRope::partial,
                                 .rotary_part = 0.5,
                                 .qk_norm_key = "qk_layernorm"}};
}  // namespace

constinit const FamilyRecord phi2{.name = "phi2",
                                  .published = "Phi-1, 1.5 and 2",
                                  .block = {.norm = Norm::layer,
                                            .parallel = true,
                                            .shared_norm = true,
                                            .qkv_bias = true,
                                            .all_bias = true,
                                            .head_bias = true,
                                            .qk_norm = QkNorm::heads,
                                            .qk_norm_optional = true,
                                            .gated = false,
                                            .act = Act::gelu_tanh},
                                  .own_names = kNames,
                                  .classes = kClasses};
}  // namespace ruv::family
