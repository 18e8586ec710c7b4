// The list of families: one row each.
#include "model/arch/archs.h"

#include <array>

namespace ruv {
namespace {
constexpr auto kArchs = std::to_array<const ArchSpec*>({
    &arch::llama,
    &arch::qwen2,
    &arch::qwen3,
    &arch::gemma,
    &arch::gemma2,
    &arch::gemma3,
    &arch::phi3,
    &arch::gpt2,
    &arch::starcoder2,
});
}

std::span<const ArchSpec* const> all_archs() { return kArchs; }

const ArchSpec* find_arch(std::string_view name) {
  for (const ArchSpec* spec : kArchs) {
    if (spec->name == name) return spec;
  }
  return nullptr;
}

}  // namespace ruv
