// Qwen3: Llama with normalised queries and keys.
#include "family/families.h"

namespace ruv::family {
namespace {
constexpr HfClass kClasses[] = {{.model_type = "qwen3",
                                 .class_names = "Qwen3ForCausalLM Qwen3Model",
                                 .max_positions = 32768,
                                 .n_kv_heads = 32,
                                 .null_kv_heads = true,
                                 .head_dim = 128,
                                 .windows = HfWindows::upper,
                                 .window = 4096,
                                 .qkv_bias = "attention_bias",
                                 .output_bias = "attention_bias"}};
}

constinit const FamilyRecord qwen3{.name = "qwen3",
                                   .published = "Qwen3 0.6B to 32B",
                                   .block = {.qk_norm = QkNorm::heads},
                                   .classes = kClasses};
}  // namespace ruv::family
