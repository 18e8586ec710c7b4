// FlexOlmo: OLMo 2 with experts in all layers. llama.cpp has no name for it.
#include "family/families.h"

namespace ruv::family {
namespace {
constexpr HfClass kClasses[] = {{.model_type = "flex_olmo",
                                 .class_names = "FlexOlmoForCausalLM FlexOlmoModel",
                                 .max_positions = 4096,
                                 .n_heads = 32,
                                 .null_kv_heads = true,
                                 .rope_base = 500000,
                                 .qkv_bias = "attention_bias",
                                 .output_bias = "attention_bias",
                                 .experts = {.count = {"num_experts num_local_experts", 7},
                                             .used = {"num_experts_per_tok", 5},
                                             .normalises_key = "norm_topk_prob",
                                             .normalises = false},
                                 .without_effect = "output_router_logits router_aux_loss_coef"}};
}

constinit const FamilyRecord flex_olmo{
    .name = "flexolmo",
    .published = "FlexOlmo 7x7B",
    .block = {.norm_place = NormPlace::post, .qk_norm = QkNorm::rows},
    .experts = {.computed = true, .normalises = false},
    .classes = kClasses};
}  // namespace ruv::family
