// The list of families: one line each. A record is defined in the file of its name.
#pragma once

#include "family/family.h"

#define RUV_FAMILIES(X) \
  X(llama)              \
  X(qwen2)              \
  X(qwen3)              \
  X(qwen3moe)           \
  X(gemma)              \
  X(gemma2)             \
  X(gemma3)             \
  X(phi3)               \
  X(gpt2)               \
  X(starcoder2)         \
  X(lfm2)

namespace ruv::family {
#define RUV_DECLARE(name) extern const FamilyRecord name;
RUV_FAMILIES(RUV_DECLARE)
#undef RUV_DECLARE
}  // namespace ruv::family
