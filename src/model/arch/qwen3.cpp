// Qwen3: Llama with normalised queries and keys.
#include "model/arch/archs.h"

namespace ruv::arch {
constinit const ArchSpec qwen3{.name = "qwen3", .block = {.qk_norm = true}};
}
