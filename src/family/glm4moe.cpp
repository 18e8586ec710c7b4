// GLM-4.5, and Solar Open, which has experts in all layers: part of each head rotates; heads are
// normalised in some sizes; experts by sigmoids, a bias that chooses and groups, beside those that
// all rows share.
#include "family/families.h"

namespace ruv::family {
namespace {
constexpr HfClass kClasses[] = {
    {.model_type = "glm4_moe",
     .class_names = "Glm4MoeForCausalLM Glm4MoeModel",
     .norm_eps = 1e-5,
     .max_positions = 131072,
     .n_heads = 96,
     .n_kv_heads = 8,
     .rope = HfRope::partial,
     .rotary_part = 0.5,
     .qkv_bias = "attention_bias",
     .qk_norm_key = "use_qk_norm",
     .experts = {.count = {"n_routed_experts num_local_experts", 128},
                 .used = {"num_experts_per_tok", 8},
                 .width = {"moe_intermediate_size", 1408},
                 .layers = HfExpertLayers::after_first,
                 .first_dense = {"first_k_dense_replace", 1},
                 .normalises_key = "norm_topk_prob",
                 .scale_key = "routed_scaling_factor",
                 .groups = {"n_group", 1},
                 .groups_used = {"topk_group", 1},
                 .choice_bias = true,
                 .shared_count = {"n_shared_experts", 1}},
     .without_effect = "output_router_logits num_mtp_layers num_nextn_predict_layers"},
    {.model_type = "solar_open",
     .class_names = "SolarOpenForCausalLM SolarOpenModel",
     .norm_eps = 1e-5,
     .max_positions = 131072,
     .n_heads = 64,
     .n_kv_heads = 8,
     .head_dim = 128,
     .rope = HfRope::partial,
     .rope_base = 1e6,
     .qkv_bias = "attention_bias",
     .experts = {.count = {"n_routed_experts num_local_experts", 128},
                 .used = {"num_experts_per_tok", 8},
                 .width = {"moe_intermediate_size", 1280},
                 .normalises_key = "norm_topk_prob",
                 .scale_key = "routed_scaling_factor",
                 .groups = {"n_group", 1},
                 .groups_used = {"topk_group", 1},
                 .choice_bias = true,
                 .shared_count = {"n_shared_experts", 1}},
     .without_effect = "output_router_logits"}};
constexpr TensorName kNames[] = {
    {"blk.{}.post_attention_norm", "model.layers.{}.post_attention_layernorm"},
};
}  // namespace

constinit const FamilyRecord glm4moe{.name = "glm4moe",
                                     .published = "GLM-4.5 to 4.7, GLM-4.5 Air, Solar Open 100B",
                                     .block = {.qk_norm = QkNorm::heads, .qk_norm_optional = true},
                                     .experts = {.computed = true,
                                                 .score = RouterScore::sigmoid,
                                                 .group_rank = GroupRank::best_two,
                                                 .sum_added = 1e-20F},
                                     .gguf_keys = "nextn_predict_layers",
                                     .ffn_norm = "post_attention_norm",
                                     .own_names = kNames,
                                     .classes = kClasses};
}  // namespace ruv::family
