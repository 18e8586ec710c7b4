// DeepSeek V2 and V3 (also Kimi K2), GLM-4.7 Flash and Youtu: all heads' keys and values are made
// of one short row. GGUF files of all of them have this architecture.
#include "family/families.h"

namespace ruv::family {
namespace {
// Pairs of halves would be another model.
constexpr NeutralKey kInterleaved[] = {{"rope_interleave", " true "}};
constexpr NeutralKey kNoBiases[] = {{"mlp_bias", " false "}};
constexpr HfLatent kUsual = {
    .q_rank = 1536, .kv_rank = 512, .plain_dim = 128, .rope_dim = 64, .value_dim = 128};

constexpr HfClass kClasses[] = {
    // Sigmoids choose, with a bias, among the experts of the best groups.
    {.model_type = "deepseek_v3",
     .class_names = "DeepseekV3ForCausalLM DeepseekV3Model",
     .max_positions = 4096,
     .n_heads = 128,
     .n_kv_heads = 128,
     .null_kv_heads = true,
     .latent = kUsual,
     .qkv_bias = "attention_bias",
     .output_bias = "attention_bias",
     .experts = {.count = {"n_routed_experts num_local_experts", 256},
                 .used = {"num_experts_per_tok", 8},
                 .width = {"moe_intermediate_size", 2048},
                 .layers = HfExpertLayers::after_first,
                 .first_dense = {"first_k_dense_replace", 3},
                 .normalises_key = "norm_topk_prob",
                 .scale_key = "routed_scaling_factor",
                 .scale = 2.5,
                 .groups = {"n_group", 8},
                 .groups_used = {"topk_group", 4},
                 .sigmoid = true,
                 .choice_bias = true,
                 .shared_count = {"n_shared_experts", 1}},
     .without_effect =
         "output_router_logits num_mtp_layers num_nextn_predict_layers pretraining_tp "
         "qk_head_dim",
     .neutral = kInterleaved},
    // A softmax chooses, and its weights are used as they are, whatever norm_topk_prob says.
    {.model_type = "deepseek_v2",
     .class_names = "DeepseekV2ForCausalLM DeepseekV2Model",
     .max_positions = 2048,
     .n_heads = 32,
     .null_kv_heads = true,
     .latent = kUsual,
     .qkv_bias = "attention_bias",
     .output_bias = "attention_bias",
     .experts = {.count = {"n_routed_experts num_experts", 64},
                 .used = {"num_experts_per_tok"},
                 .width = {"moe_intermediate_size", 1407},
                 .layers = HfExpertLayers::after_first,
                 .first_dense = {"first_k_dense_replace"},
                 .normalises = false,
                 .scale_key = "routed_scaling_factor",
                 .groups = {"n_group"},
                 .groups_used = {"topk_group"},
                 .groups_method_key = "topk_method",
                 .shared_count = {"n_shared_experts", 2}},
     .without_effect = "output_router_logits norm_topk_prob pretraining_tp qk_head_dim",
     .neutral = kNoBiases},
    // As V3, with wider values, and experts from the second layer on unless layers are listed.
    {.model_type = "glm4_moe_lite",
     .class_names = "Glm4MoeLiteForCausalLM Glm4MoeLiteModel",
     .norm_eps = 1e-5,
     .max_positions = 202752,
     .n_heads = 20,
     .n_kv_heads = 20,
     .latent = {.q_rank = 768,
                .kv_rank = 512,
                .plain_dim = 192,
                .rope_dim = 64,
                .value_dim = 256,
                .rope_alias = "head_dim"},
     .qkv_bias = "attention_bias",
     .output_bias = "attention_bias",
     .experts = {.count = {"n_routed_experts num_local_experts", 64},
                 .used = {"num_experts_per_tok", 4},
                 .width = {"moe_intermediate_size", 1536},
                 .layers = HfExpertLayers::types,
                 .first_dense = {"", 1},
                 .normalises_key = "norm_topk_prob",
                 .scale_key = "routed_scaling_factor",
                 .scale = 1.8,
                 .groups = {"n_group", 1},
                 .groups_used = {"topk_group", 1},
                 .sigmoid = true,
                 .choice_bias = true,
                 .shared_count = {"n_shared_experts", 1}},
     .without_effect = "output_router_logits num_nextn_predict_layers pretraining_tp qk_head_dim",
     .neutral = kInterleaved},
    // Without experts.
    {.model_type = "youtu",
     .class_names = "YoutuForCausalLM YoutuModel",
     .max_positions = 131072,
     .n_heads = 16,
     .n_kv_heads = 16,
     .null_kv_heads = true,
     .latent = kUsual,
     .qkv_bias = "attention_bias",
     .output_bias = "attention_bias",
     .tied = true,
     .without_effect = "embedding_initializer_range qk_head_dim",
     .neutral = kInterleaved},
};
}  // namespace

constinit const FamilyRecord deepseek2{
    .name = "deepseek2",
    .published = "DeepSeek V2 and V3 (folders in BF16), GLM-4.7 Flash, Youtu-LLM 2B, Moonlight 16B",
    .block = {.mixers = Mixers::latent},
    .experts = {.computed = true,
                .group_rank = GroupRank::best_two,
                .ranks_by_best = true,
                .normalises = false,
                .sum_added = 1e-20F},
    .neighbour_pairs = true,
    .gguf_keys =
        "attention.q_lora_rank attention.kv_lora_rank attention.key_length_mla "
        "attention.value_length_mla rope.scaling.yarn_log_multiplier",
    .predicts_ahead = true,
    .classes = kClasses};
}  // namespace ruv::family
