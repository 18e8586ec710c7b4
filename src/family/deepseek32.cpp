// DeepSeek V3.2: DeepSeek V3, of whose keys attention reads those that an index chooses.
#include "family/families.h"

namespace ruv::family {
namespace {
// Attention rotates neighbours and the index halves; other orders would be other models.
constexpr NeutralKey kNeutral[] = {
    {"rope_interleave", " true "}, {"indexer_rope_interleave", " false "}, {"mlp_bias", " false "}};

constexpr HfClass kClasses[] = {
    {.model_type = "deepseek_v32",
     .class_names = "DeepseekV32ForCausalLM DeepseekV32Model",
     .max_positions = 163840,
     .n_heads = 128,
     .n_kv_heads = 128,
     .latent = {.q_rank = 1536, .kv_rank = 512, .plain_dim = 128, .rope_dim = 64, .value_dim = 128},
     .indexer = {.n_heads = 64, .head_dim = 128, .n_chosen = 2048},
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
                 .groups = {"n_group", 8},
                 .groups_used = {"topk_group", 4},
                 .sigmoid = true,
                 .choice_bias = true,
                 .shared_count = {"n_shared_experts", 1}},
     .without_effect =
         "output_router_logits num_mtp_layers num_nextn_predict_layers pretraining_tp "
         "qk_head_dim",
     .neutral = kNeutral}};
}  // namespace

constinit const FamilyRecord deepseek32{
    .name = "deepseek32",
    .published = "DeepSeek V3.2 (folders in BF16)",
    .block = {.mixers = Mixers::latent, .indexer = Indexer::halves},
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
