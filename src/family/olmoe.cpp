// OLMoE: experts in all layers, and queries and keys normalised as whole rows.
#include "family/families.h"

namespace ruv::family {
namespace {
constexpr NeutralKey kNeutral[] = {{"clip_qkv", " null "}, {"sliding_window", " null "}};
constexpr HfClass kClasses[] = {{.model_type = "olmoe",
                                 .class_names = "OlmoeForCausalLM OlmoeModel",
                                 .norm_eps = 1e-5,
                                 .max_positions = 4096,
                                 .n_heads = 16,
                                 .null_kv_heads = true,
                                 .qkv_bias = "attention_bias",
                                 .output_bias = "attention_bias",
                                 .experts = {.count = {"num_experts num_local_experts", 64},
                                             .used = {"num_experts_per_tok", 8},
                                             .normalises_key = "norm_topk_prob",
                                             .normalises = false},
                                 .without_effect = "output_router_logits router_aux_loss_coef",
                                 .neutral = kNeutral}};
}  // namespace

constinit const FamilyRecord olmoe{.name = "olmoe",
                                   .published = "OLMoE 1B-7B",
                                   .block = {.qk_norm = QkNorm::rows},
                                   .experts = {.computed = true, .normalises = false},
                                   .classes = kClasses};
}  // namespace ruv::family
