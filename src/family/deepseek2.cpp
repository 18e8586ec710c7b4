// DeepSeek V2 and those with its latent attention: all heads' keys and values are made of one short
// row. GGUF files of all of them have this architecture.
#include "family/families.h"

namespace ruv::family {
namespace {
// Pairs of halves would be another model.
constexpr NeutralKey kNeutral[] = {{"rope_interleave", " true "}};
constexpr HfClass kClasses[] = {
    {.model_type = "youtu",
     .class_names = "YoutuForCausalLM YoutuModel",
     .max_positions = 131072,
     .n_heads = 16,
     .n_kv_heads = 16,
     .null_kv_heads = true,
     .latent = {.q_rank = 1536, .kv_rank = 512, .plain_dim = 128, .rope_dim = 64, .value_dim = 128},
     .qkv_bias = "attention_bias",
     .output_bias = "attention_bias",
     .tied = true,
     .without_effect = "embedding_initializer_range qk_head_dim",
     .neutral = kNeutral}};
}  // namespace

constinit const FamilyRecord deepseek2{
    .name = "deepseek2",
    .block = {.mixers = Mixers::latent},
    .neighbour_pairs = true,
    .gguf_keys =
        "attention.q_lora_rank attention.kv_lora_rank attention.key_length_mla "
        "attention.value_length_mla",
    .classes = kClasses};
}  // namespace ruv::family
