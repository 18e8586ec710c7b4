// OLMo: Llama with layer norms that have no weights; q, k and v may be clamped.
#include "family/families.h"

namespace ruv::family {
namespace {
constexpr HfClass kClasses[] = {{.model_type = "olmo",
                                 .class_names = "OlmoForCausalLM OlmoModel",
                                 .norm_eps_key = "",
                                 .norm_eps = 1e-5,
                                 .max_positions = 2048,
                                 .null_kv_heads = true,
                                 .qkv_bias = "attention_bias",
                                 .output_bias = "attention_bias",
                                 .clamp_key = "clip_qkv"}};
}

constinit const FamilyRecord olmo{
    .name = "olmo",
    .published = "OLMo 1B and 7B",
    .block = {.norm = Norm::layer, .norm_weights = false, .norm_biases = false},
    .gguf_keys = "attention.clamp_kqv",
    .neighbour_rows = true,
    .classes = kClasses};
}  // namespace ruv::family
