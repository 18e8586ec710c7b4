// VaultGemma: Gemma 2 without the norms after attention and feed-forward.
#include "family/families.h"

namespace ruv::family {
namespace {
constexpr HfClass kClasses[] = {{.model_type = "vaultgemma",
                                 .class_names = "VaultGemmaForCausalLM VaultGemmaModel",
                                 .act_key = "hidden_activation",
                                 .max_positions = 8192,
                                 .n_heads = 8,
                                 .n_kv_heads = 4,
                                 .head_dim = 256,
                                 .windows = HfWindows::periodic,
                                 .window = 4096,
                                 .query_scalar = 256,
                                 .qkv_bias = "attention_bias",
                                 .output_bias = "attention_bias",
                                 .tied = true}};
constexpr TensorName kNames[] = {{"blk.{}.ffn_norm", "model.layers.{}.pre_feedforward_layernorm"}};
}  // namespace

constinit const FamilyRecord vaultgemma{
    .name = "vaultgemma",
    .published = "VaultGemma 1B",
    .block = {.act = Act::gelu_tanh, .windows = Windows::periodic, .window_period = 2},
    .embed_scale = EmbedScale::sqrt_dim,
    .attn_softcap = {.computed = true, .otherwise = 50},
    .final_softcap = {.computed = true, .otherwise = 30},
    .norms_minus_one = true,
    .own_names = kNames,
    .classes = kClasses};
}  // namespace ruv::family
