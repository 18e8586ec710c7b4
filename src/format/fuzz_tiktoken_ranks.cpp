// Hostile tiktoken ranks: they are refused, or the tokenizer made of them encodes and decodes.
#include <cstddef>
#include <cstdint>

#include "format/fuzz_tokenizer_spec.h"
#include "format/tiktoken_ranks.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(bytes), size);
  (void)ruv::looks_like_ranks(text);
  // tekken has no control tokens of its own, so that a small file stays a small vocabulary.
  ruv::try_tokenizer(ruv::tokenizer_spec_from_ranks(text, "fuzz", "tekken", "fuzz"));
  return 0;
}
