// Qwen2 and Qwen2.5: Llama with biases on q, k and v.
#include "model/arch/archs.h"

namespace ruv::arch {
constinit const ArchSpec qwen2{.name = "qwen2", .block = {.qkv_bias = true}};
}
