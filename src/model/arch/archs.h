// The families' specs, each defined in the file of its name.
#pragma once

#include "model/arch_spec.h"

namespace ruv::arch {
extern const ArchSpec llama, qwen2, qwen3, gemma, gemma2, gemma3, phi3, gpt2, starcoder2;
}
