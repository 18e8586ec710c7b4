// Ling 2 and Ring 2 (Bailing): as Ling with normalised heads of which a part rotates; experts by
// sigmoids, a bias that chooses and groups. Sarvam has their names and rotates whole heads.
#include "family/bailing.h"
#include "family/families.h"

namespace ruv::family {
namespace {
// What transformers calls the biases, and the numbers of experts.
constexpr HfExperts kSarvam = {.count = {"n_routed_experts num_experts num_local_experts", 128},
                               .used = {"num_experts_per_tok", 6},
                               .width = {"moe_intermediate_size", 1024},
                               .layers = HfExpertLayers::after_first,
                               .first_dense = {"first_k_dense_replace", 1},
                               .normalises_key = "norm_topk_prob",
                               .scale_key = "routed_scaling_factor",
                               .scale = 2.5,
                               .groups = {"n_group", 1},
                               .groups_used = {"topk_group", 1},
                               .choice_bias = true,
                               .shared_count = {"n_shared_experts num_shared_experts", 1}};
constexpr HfClass kClasses[] = {
    {.model_type = "bailing_moe",
     .class_names = "BailingMoeV2ForCausalLM BailingMoeV2Model",
     .max_positions = 32768,
     .n_heads = 16,
     .rope = HfRope::partial,
     .rope_base = 600000,
     .rotary_part = 1,
     .rotated_dims_key = "rotary_dim",
     .qkv_bias = "use_qkv_bias",
     .qk_norm_key = "use_qk_norm",
     .qk_norm_by_default = true,
     .experts = grouped_bailing_experts(),
     .without_effect = "embedding_dropout output_dropout max_window_layers output_router_logits "
                       "num_nextn_predict_layers mtp_loss_scaling_factor router_dtype",
     .neutral = kBailingNeutral},
    {.model_type = "sarvam_moe",
     .class_names = "SarvamMoEForCausalLM SarvamMoEModel",
     .max_positions = 131072,
     .n_heads = 64,
     .n_kv_heads = 4,
     .head_dim = 64,
     .rope = HfRope::partial,
     .rope_base = 8000000,
     .qkv_bias = "use_qkv_bias attention_bias",
     .qk_norm_key = "use_qk_norm",
     .qk_norm_by_default = true,
     .experts = kSarvam,
     .without_effect = "output_router_logits num_mtp_layers num_nextn_predict_layers"}};
}  // namespace

constinit const FamilyRecord bailingmoe2{
    .name = "bailingmoe2",
    .published = "Ling 2 and Ring 2: mini 16B, flash 100B, 1T; Sarvam 30B",
    .block = {.qk_norm = QkNorm::heads, .qk_norm_optional = true},
    .experts = {.computed = true,
                .score = RouterScore::sigmoid,
                .group_rank = GroupRank::best_two,
                .sum_added = 1e-20F},
    .gguf_keys = "nextn_predict_layers",
    .fused_qkv = true,
    .own_names = kBailingNames,
    .classes = kClasses};
}  // namespace ruv::family
