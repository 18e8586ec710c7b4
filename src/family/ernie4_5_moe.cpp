// ERNIE 4.5 with experts: chosen by a bias, too, beside those that all rows share.
#include "family/families.h"

namespace ruv::family {
namespace {
constexpr HfClass kClasses[] = {{.model_type = "ernie4_5_moe",
                                 .class_names = "Ernie4_5_MoeForCausalLM Ernie4_5_MoeModel",
                                 .norm_eps = 1e-5,
                                 .max_positions = 131072,
                                 .n_heads = 20,
                                 .n_kv_heads = 4,
                                 .rope_base = 500000,
                                 .qkv_bias = "use_bias",
                                 .output_bias = "use_bias",
                                 .mlp_bias = "use_bias",
                                 .head_bias = "use_bias",
                                 .tied = true,
                                 .experts = {.count = {"moe_num_experts num_experts", 64},
                                             .used = {"moe_k num_experts_per_tok", 6},
                                             .width = {"moe_intermediate_size", 1536},
                                             .layers = HfExpertLayers::interval,
                                             .least_sum_key = "moe_norm_min",
                                             .least_sum = 1e-12,
                                             .choice_bias = true,
                                             .shared_count = {"moe_num_shared_experts", 2}},
                                 .without_effect = "output_router_logits router_aux_loss_coef"}};
constexpr TensorName kNames[] = {
    {.gguf = "blk.{}.exp_probs_b.bias",
     .hf = "model.layers.{}.mlp.moe_statics.e_score_correction_bias",
     .whole = true},
};
}  // namespace

constinit const FamilyRecord ernie4_5_moe{.name = "ernie4_5-moe",
                                          .published = "ERNIE 4.5 21B-A3B and 300B-A47B",
                                          .experts = {.computed = true, .sum_least = 1e-12F},
                                          .neighbour_pairs = true,
                                          .own_names = kNames,
                                          .classes = kClasses};
}  // namespace ruv::family
