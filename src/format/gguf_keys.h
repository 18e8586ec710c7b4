// What is known of the keys under a GGUF file's architecture ("llama.rope.freq_base"): honoured,
// without effect, or refused unless neutral. A key that is not known is refused, because a file
// that has it may mean other numbers.
#pragma once

#include <span>
#include <string_view>

#include "family/family.h"
#include "format/model_file.h"

namespace ruv {

// Honoured in files of all families, between spaces, without the architecture.
// FamilyRecord::gguf_keys has those that only some families honour.
std::string_view gguf_keys();
std::string_view gguf_keys_without_effect();
std::span<const NeutralKey> gguf_neutral_keys();

// The keys that are refused (unsupported), each named with its value; none for an architecture that
// no model class here has.
Faults check_gguf_keys(const MetaMap& metadata, const std::string& architecture,
                       const std::string& source);

}  // namespace ruv
