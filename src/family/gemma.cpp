// Gemma 1: embeddings scaled by the square root of the width, norms stored less one, and a GELU
// whose tanh form the configs call "gelu".
#include "family/families.h"

namespace ruv::family {
namespace {
constexpr NeutralKey kNeutral[] = {{"use_bidirectional_attention", "null false"}};
constexpr HfClass kClasses[] = {{.model_type = "gemma",
                                 .class_names = "GemmaForCausalLM GemmaModel",
                                 .gelu_is_tanh = true,
                                 .max_positions = 8192,
                                 .n_heads = 16,
                                 .n_kv_heads = 16,
                                 .head_dim = 256,
                                 .qkv_bias = "attention_bias",
                                 .output_bias = "attention_bias",
                                 .tied = true,
                                 .neutral = kNeutral}};
}  // namespace

constinit const FamilyRecord gemma{.name = "gemma",
                                   .published = "Gemma 2B and 7B, CodeGemma",
                                   .block = {.act = Act::gelu_tanh},
                                   .embed_scale = EmbedScale::sqrt_dim,
                                   .norms_minus_one = true,
                                   .classes = kClasses};
}  // namespace ruv::family
