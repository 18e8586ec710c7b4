// What the generations of Ling (Bailing) have in common.
#pragma once

#include "family/family.h"

namespace ruv::family {

inline constexpr TensorName kBailingNames[] = {
    {"token_embd", "model.word_embeddings"},
    {"blk.{}.attn_qkv", "model.layers.{}.attention.query_key_value"},
    {"blk.{}.attn_output", "model.layers.{}.attention.dense"},
    {"blk.{}.attn_q_norm", "model.layers.{}.attention.query_layernorm"},
    {"blk.{}.attn_k_norm", "model.layers.{}.attention.key_layernorm"},
    whole("blk.{}.exp_probs_b.bias", "model.layers.{}.mlp.gate.expert_bias"),
};
// Those of the first generation, which normalises no heads and has no bias that chooses.
inline constexpr size_t kBailingFirstNames = 3;

// The output matrix and its softmax in forms of their own, other norms and media; a router that
// sees kinds of media.
inline constexpr NeutralKey kBailingNeutral[] = {
    {"use_bias", " false "},          {"norm_head", " false null "},
    {"norm_softmax", " false null "}, {"multi_gate", " false null "},
    {"use_rmsnorm", " true "},        {"moe_router_enable_shared_expert", " true "},
    {"image_patch_token", " null "},  {"audio_patch_token", " null "}};

// Experts after dense layers. The second generation says more of them.
constexpr HfExperts bailing_experts() {
  return {.count = {"num_experts"},
          .used = {"num_experts_per_tok"},
          .width = {"moe_intermediate_size"},
          .layers = HfExpertLayers::after_first,
          .first_dense = {"first_k_dense_replace"},
          .normalises_key = "norm_topk_prob",
          .shared_count = {"num_shared_experts"},
          .shared_width_again = "moe_shared_expert_intermediate_size"};
}
constexpr HfExperts grouped_bailing_experts() {
  HfExperts experts = bailing_experts();
  experts.scale_key = "routed_scaling_factor";
  experts.groups = {"n_group", 1};
  experts.groups_used = {"topk_group", 1};
  experts.score_key = "score_function";
  experts.choice_bias_key = "moe_router_enable_expert_bias";
  return experts;
}

}  // namespace ruv::family
