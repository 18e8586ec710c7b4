// Qwen2 and Qwen2.5: Llama with biases on q, k and v. Large models may have a window in the layers
// from max_window_layers on.
#include "family/families.h"

namespace ruv::family {
namespace {
constexpr HfClass kClasses[] = {{.model_type = "qwen2",
                                 .class_names = "Qwen2ForCausalLM Qwen2Model",
                                 .max_positions = 32768,
                                 .n_kv_heads = 32,
                                 .null_kv_heads = true,
                                 .windows = HfWindows::upper,
                                 .window = 4096}};
}

constinit const FamilyRecord qwen2{.name = "qwen2",
                                   .published =
                                       "Qwen 1.5, 2 and 2.5, QwQ 32B, DeepSeek R1 Distill "
                                       "Qwen",
                                   .block = {.qkv_bias = true},
                                   .vocab = {.splits = "qwen2"},
                                   .classes = kClasses};
}  // namespace ruv::family
