// GLM 5: as DeepSeek V3.2. The index rotates neighbours too, and layers may read what the index of
// one before has chosen.
#include "family/families.h"

namespace ruv::family {
namespace {
constexpr NeutralKey kNeutral[] = {
    {"rope_interleave", " true "}, {"indexer_rope_interleave", " true "}, {"mlp_bias", " false "}};

constexpr HfClass kClasses[] = {
    {.model_type = "glm_moe_dsa",
     .class_names = "GlmMoeDsaForCausalLM GlmMoeDsaModel",
     .norm_eps = 1e-5,
     .max_positions = 202752,
     .n_heads = 64,
     .n_kv_heads = 64,
     .latent = {.q_rank = 2048, .kv_rank = 512, .plain_dim = 192, .rope_dim = 64, .value_dim = 256},
     .indexer = {.n_heads = 32, .head_dim = 128, .n_chosen = 2048, .shares = true},
     .qkv_bias = "attention_bias",
     .output_bias = "attention_bias",
     .experts = {.count = {"num_experts n_routed_experts num_local_experts", 256},
                 .used = {"num_experts_per_tok", 8},
                 .width = {"moe_intermediate_size", 2048},
                 .layers = HfExpertLayers::types,
                 .first_dense = {"first_k_dense_replace", 3},
                 .normalises_key = "norm_topk_prob",
                 .scale_key = "routed_scaling_factor",
                 .scale = 2.5,
                 .groups = {"n_group", 1},
                 .groups_used = {"topk_group", 1},
                 .sigmoid = true,
                 .choice_bias = true,
                 .shared_count = {"n_shared_experts", 1}},
     .without_effect =
         "output_router_logits num_mtp_layers num_nextn_predict_layers pretraining_tp "
         "qk_head_dim index_share_for_mtp_iteration",
     .neutral = kNeutral}};
}  // namespace

constinit const FamilyRecord glm_dsa{
    .name = "glm-dsa",
    .published = "GLM 5, 5.1 and 5.2 (folders in BF16)",
    .block = {.mixers = Mixers::latent, .indexer = Indexer::neighbours},
    .experts = {.computed = true,
                .group_rank = GroupRank::best_two,
                .normalises = false,
                .sum_added = 1e-20F},
    .neighbour_pairs = true,
    .gguf_keys =
        "attention.q_lora_rank attention.kv_lora_rank attention.key_length_mla "
        "attention.value_length_mla attention.indexer.head_count attention.indexer.key_length "
        "attention.indexer.top_k attention.indexer.shared_layers nextn_predict_layers "
        "rope.scaling.yarn_log_multiplier",
    .predicts_ahead = true,
    .classes = kClasses};
}  // namespace ruv::family
