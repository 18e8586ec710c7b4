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
                                 .experts = {.count = {"num_experts num_local_experts", 128},
                                             .used = {"num_experts_per_tok", 8},
                                             .width = {"moe_intermediate_size", 768},
                                             .layers = HfExpertLayers::by_step,
                                             .normalises_key = "norm_topk_prob",
                                             .normalises = false},
                                 .without_effect = "output_router_logits router_aux_loss_coef"}};
}

constinit const FamilyRecord qwen3moe{.name = "qwen3moe",
                                      .published = "Qwen3 30B-A3B and 235B-A22B, Qwen3 Coder",
                                      .block = {.qk_norm = QkNorm::heads, .windows = Windows::all},
                                      .experts = {.computed = true},
                                      .classes = kClasses};
}  // namespace ruv::family
