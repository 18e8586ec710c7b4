// Ling 2 and Ring 2 (Bailing): as Ling with normalised heads of which a part rotates; experts by
// sigmoids, a bias that chooses and groups.
#include "family/families.h"

namespace ruv::family {
namespace {
constexpr TensorName kNames[] = {
    {"token_embd", "model.word_embeddings"},
    {"blk.{}.attn_qkv", "model.layers.{}.attention.query_key_value"},
    {"blk.{}.attn_output", "model.layers.{}.attention.dense"},
    {"blk.{}.attn_q_norm", "model.layers.{}.attention.query_layernorm"},
    {"blk.{}.attn_k_norm", "model.layers.{}.attention.key_layernorm"},
    whole("blk.{}.exp_probs_b.bias", "model.layers.{}.mlp.gate.expert_bias"),
};
constexpr NeutralKey kNeutral[] = {{"use_bias", " false "},
                                   {"norm_head", " false null "},
                                   {"norm_softmax", " false null "},
                                   {"use_rmsnorm", " true "},
                                   {"moe_router_enable_shared_expert", " true "},
                                   {"image_patch_token", " null "},
                                   {"audio_patch_token", " null "}};
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
     .experts = {.count = {"num_experts"},
                 .used = {"num_experts_per_tok"},
                 .width = {"moe_intermediate_size"},
                 .layers = HfExpertLayers::after_first,
                 .first_dense = {"first_k_dense_replace"},
                 .normalises_key = "norm_topk_prob",
                 .scale_key = "routed_scaling_factor",
                 .groups = {"n_group", 1},
                 .groups_used = {"topk_group", 1},
                 .score_key = "score_function",
                 .choice_bias_key = "moe_router_enable_expert_bias",
                 .shared_count = {"num_shared_experts"}},
     .without_effect = "embedding_dropout output_dropout max_window_layers output_router_logits "
                       "num_nextn_predict_layers mtp_loss_scaling_factor router_dtype "
                       "moe_shared_expert_intermediate_size",
     .neutral = kNeutral}};
}  // namespace

constinit const FamilyRecord bailingmoe2{
    .name = "bailingmoe2",
    .published = "Ling 2 and Ring 2: mini 16B, flash 100B, 1T",
    .block = {.qk_norm = QkNorm::heads, .qk_norm_optional = true},
    .experts = {.computed = true,
                .score = RouterScore::sigmoid,
                .group_rank = GroupRank::best_two,
                .sum_added = 1e-20F},
    .gguf_keys = "nextn_predict_layers",
    .fused_qkv = true,
    .own_names = kNames,
    .classes = kClasses};
}  // namespace ruv::family
