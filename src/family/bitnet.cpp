// BitNet b1.58: Llama with norms before the matrices that end attention and feed-forward. Weights
// of three values are not read; a config that asks for them is refused.
#include "family/families.h"

namespace ruv::family {
namespace {
constexpr HfClass kClasses[] = {{.model_type = "bitnet",
                                 .class_names = "BitNetForCausalLM BitNetModel",
                                 .act = "relu2",
                                 .norm_eps = 1e-5,
                                 .max_positions = 2048,
                                 .n_kv_heads = 5,
                                 .null_kv_heads = true,
                                 .rope_base = 500000,
                                 .qkv_bias = "attention_bias",
                                 .output_bias = "attention_bias"}};
constexpr TensorName kNames[] = {
    {"blk.{}.attn_sub_norm", "model.layers.{}.self_attn.attn_sub_norm"},
    {"blk.{}.ffn_sub_norm", "model.layers.{}.mlp.ffn_sub_norm"},
};
}  // namespace

// GGUF files that name no activation are those of models before the published one, with SiLU.
constinit const FamilyRecord bitnet{.name = "bitnet",
                                    .published = "BitNet b1.58 2B 4T (without its ternary weights)",
                                    .block = {.sub_norms = true},
                                    .own_names = kNames,
                                    .classes = kClasses};
}  // namespace ruv::family
