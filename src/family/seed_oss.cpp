// Seed-OSS: Llama with biases on q, k and v.
#include "family/families.h"

namespace ruv::family {
namespace {
constexpr TensorName kNames[] = {
    {"blk.{}.post_attention_norm", "model.layers.{}.post_attention_layernorm"}};
constexpr HfClass kClasses[] = {{.model_type = "seed_oss",
                                 .class_names = "SeedOssForCausalLM SeedOssModel",
                                 .max_positions = 524288,
                                 .n_heads = 80,
                                 .n_kv_heads = 8,
                                 .null_kv_heads = true,
                                 .head_dim = 128,
                                 .null_head_dim = true,
                                 .qkv_bias = "attention_bias",
                                 .output_bias = "attention_out_bias",
                                 .mlp_bias = "mlp_bias",
                                 .qkv_bias_by_default = true,
                                 .without_effect = "pretraining_tp"}};
}  // namespace

constinit const FamilyRecord seed_oss{.name = "seed_oss",
                                      .published = "Seed-OSS 36B",
                                      .ffn_norm = "post_attention_norm",
                                      .own_names = kNames,
                                      .classes = kClasses};
}  // namespace ruv::family
