// dots.llm1: normalised heads; experts by sigmoids, a bias that chooses and groups, beside those
// that all rows share.
#include "family/families.h"

namespace ruv::family {
namespace {
constexpr HfClass kClasses[] = {{.model_type = "dots1",
                                 .class_names = "Dots1ForCausalLM Dots1Model",
                                 .max_positions = 2048,
                                 .n_heads = 32,
                                 .n_kv_heads = 32,
                                 .null_kv_heads = true,
                                 .windows = HfWindows::above,
                                 .window = 4096,
                                 .max_window_layers = 62,
                                 .qkv_bias = "attention_bias",
                                 .output_bias = "attention_bias",
                                 .experts = {.count = {"n_routed_experts num_local_experts"},
                                             .used = {"num_experts_per_tok"},
                                             .width = {"moe_intermediate_size", 1408},
                                             .layers = HfExpertLayers::after_first,
                                             .first_dense = {"first_k_dense_replace"},
                                             .normalises_key = "norm_topk_prob",
                                             .normalises = false,
                                             .scale_key = "routed_scaling_factor",
                                             .groups = {"n_group", 1},
                                             .groups_used = {"topk_group", 1},
                                             .choice_bias = true,
                                             .shared_count = {"n_shared_experts"}},
                                 .without_effect = "output_router_logits"}};
}  // namespace

constinit const FamilyRecord dots1{.name = "dots1",
                                   .published = "dots.llm1 142B-A14B",
                                   .block = {.qk_norm = QkNorm::heads},
                                   .experts = {.computed = true,
                                               .score = RouterScore::sigmoid,
                                               .group_rank = GroupRank::best_two,
                                               .normalises = false,
                                               .sum_added = 1e-20F},
                                   .classes = kClasses};
}  // namespace ruv::family
