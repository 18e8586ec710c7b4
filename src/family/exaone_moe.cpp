// K-EXAONE: experts by sigmoids, a bias that chooses and groups, beside those that all rows share;
// where there is a window, only windowed layers have positions.
#include "family/families.h"

namespace ruv::family {
namespace {
constexpr HfClass kClasses[] = {
    {.model_type = "exaone_moe",
     .class_names = "ExaoneMoeForCausalLM ExaoneMoeModel",
     .norm_eps = 1e-5,
     .max_positions = 2048,
     .n_heads = 32,
     .n_kv_heads = 32,
     .windows = HfWindows::periodic_or_none,
     .window = 4096,
     .period_key = "sliding_window_pattern",
     .experts = {.count = {"num_experts", 64},
                 .used = {"num_experts_per_tok", 8},
                 .width = {"moe_intermediate_size", 1024},
                 .layers = HfExpertLayers::types,
                 .first_dense = {"first_k_dense_replace", 1},
                 .normalises_key = "norm_topk_prob",
                 .scale_key = "routed_scaling_factor",
                 .scale = 2.5,
                 .groups = {"n_group", 1},
                 .groups_used = {"topk_group", 1},
                 .choice_bias = true,
                 .shared_count = {"num_shared_experts", 1}},
     .without_effect = "output_router_logits num_nextn_predict_layers"}};
constexpr TensorName kNames[] = {
    {.gguf = "blk.{}.exp_probs_b.bias",
     .hf = "model.layers.{}.mlp.e_score_correction_bias",
     .whole = true},
};
}  // namespace

constinit const FamilyRecord exaone_moe{.name = "exaone-moe",
                                        .published = "K-EXAONE 236B-A23B",
                                        .block = {.qk_norm = QkNorm::heads,
                                                  .windows = Windows::periodic,
                                                  .window_period = 4,
                                                  .only_windows_rotate = true},
                                        .experts = {.computed = true,
                                                    .score = RouterScore::sigmoid,
                                                    .group_rank = GroupRank::best_two,
                                                    .sum_added = 1e-20F},
                                        .gguf_keys = "nextn_predict_layers",
                                        .own_names = kNames,
                                        .classes = kClasses};
}  // namespace ruv::family
