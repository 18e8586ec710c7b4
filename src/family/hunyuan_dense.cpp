// Hunyuan (dense): Llama with norms of each head after its positions.
#include "family/families.h"

namespace ruv::family {
namespace {
constexpr TensorName kNames[] = {
    {"blk.{}.attn_q_norm", "model.layers.{}.self_attn.query_layernorm"},
    {"blk.{}.attn_k_norm", "model.layers.{}.self_attn.key_layernorm"},
};
constexpr HfClass kClasses[] = {{.model_type = "hunyuan_v1_dense",
                                 .class_names = "HunYuanDenseV1ForCausalLM HunYuanDenseV1Model",
                                 .norm_eps = 1e-5,
                                 .max_positions = 2048,
                                 .n_heads = 32,
                                 .null_kv_heads = true,
                                 .qkv_bias = "attention_bias",
                                 .output_bias = "attention_bias",
                                 .without_effect = "eod_token_id pretraining_tp"}};
}  // namespace

constinit const FamilyRecord hunyuan_dense{
    .name = "hunyuan-dense",
    .published = "Hunyuan 0.5B to 7B",
    .block = {.qk_norm = QkNorm::heads, .rotates_first = true},
    .own_names = kNames,
    .classes = kClasses};
}  // namespace ruv::family
