// Qwen3 with experts in all or some layers.
#include "family/families.h"

namespace ruv::family {
namespace {
constexpr HfClass kClasses[] = {{.model_type = "qwen3_moe",
                                 .class_names = "Qwen3MoeForCausalLM Qwen3MoeModel",
                                 .max_positions = 32768,
                                 .n_heads = 32,
                                 .n_kv_heads = 4,
                                 .windows = HfWindows::optional,
                                 .window = 4096,
                                 .qkv_bias = "attention_bias",
                                 .output_bias = "attention_bias",
                                 .experts = HfExperts::by_layer,
                                 .without_effect = "output_router_logits router_aux_loss_coef"}};
constexpr TensorName kNames[] = {
    {"blk.{}.ffn_gate_inp", "model.layers.{}.mlp.gate"},
    {"blk.{}.ffn_gate.{}", "model.layers.{}.mlp.experts.{}.gate_proj"},
    {"blk.{}.ffn_up.{}", "model.layers.{}.mlp.experts.{}.up_proj"},
    {"blk.{}.ffn_down.{}", "model.layers.{}.mlp.experts.{}.down_proj"},
};
}  // namespace

constinit const FamilyRecord qwen3moe{.name = "qwen3moe",
                                      .block = {.qk_norm = QkNorm::heads, .windows = Windows::all},
                                      .experts = true,
                                      .own_names = kNames,
                                      .classes = kClasses};
}  // namespace ruv::family
