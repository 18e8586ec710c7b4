// Mistral 4: the latent attention of DeepSeek V3 with queries that grow with their position, and
// experts chosen by a softmax.
#include "family/families.h"

namespace ruv::family {
namespace {
constexpr NeutralKey kInterleaved[] = {{"rope_interleave", " true "}};
constexpr std::string_view kRope = R"({"rope_type": "yarn", "rope_theta": 10000.0,
    "factor": 128.0, "original_max_position_embeddings": 8192, "beta_fast": 32.0, "beta_slow": 1.0,
    "mscale": 1.0, "mscale_all_dim": 1.0, "llama_4_scaling_beta": 0.1})";
constexpr HfClass kClasses[] = {
    {.model_type = "mistral4",
     .class_names = "Mistral4ForCausalLM Mistral4Model",
     .max_positions = 1048576,
     .n_heads = 32,
     .n_kv_heads = 32,
     .null_kv_heads = true,
     .latent = {.q_rank = 1024,
                .kv_rank = 256,
                .plain_dim = 64,
                .rope_dim = 64,
                .value_dim = 128,
                .part_of_head = true},
     .default_rope = kRope,
     .growth = HfGrowth::rope,
     .qkv_bias = "attention_bias",
     .output_bias = "attention_bias",
     .experts = {.count = {"n_routed_experts num_local_experts", 128},
                 .used = {"num_experts_per_tok", 4},
                 .width = {"moe_intermediate_size", 2048},
                 .layers = HfExpertLayers::after_first,
                 .first_dense = {"first_k_dense_replace"},
                 .normalises_key = "norm_topk_prob",
                 .scale_key = "routed_scaling_factor",
                 .groups = {"n_group", 1},
                 .groups_used = {"topk_group", 1},
                 .shared_count = {"n_shared_experts", 1}},
     .without_effect = "output_router_logits pretraining_tp qk_head_dim",
     .neutral = kInterleaved},
};
// Experts are stacked, gate before up.
constexpr TensorName kNames[] = {
    {.gguf = "blk.{}.ffn_gate_exps.weight",
     .hf = "model.layers.{}.mlp.experts.gate_up_proj",
     .whole = true,
     .stack = ExpertStack::stacked,
     .other = "blk.{}.ffn_up_exps.weight"},
    {.gguf = "blk.{}.ffn_down_exps.weight",
     .hf = "model.layers.{}.mlp.experts.down_proj",
     .whole = true,
     .stack = ExpertStack::stacked},
};
}  // namespace

constinit const FamilyRecord mistral4{
    .name = "mistral4",
    .published = "Mistral Small 4 119B (folders in BF16)",
    .block = {.mixers = Mixers::latent, .growth = Growth::all},
    .experts = {.computed = true, .group_rank = GroupRank::best_two, .sum_added = 1e-20F},
    .neighbour_pairs = true,
    .gguf_keys =
        "attention.q_lora_rank attention.kv_lora_rank attention.key_length_mla "
        "attention.value_length_mla rope.scaling.yarn_log_multiplier "
        "attention.temperature_scale attention.temperature_length",
    .own_names = kNames,
    .classes = kClasses};
}  // namespace ruv::family
