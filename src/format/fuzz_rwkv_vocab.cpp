// A hostile RWKV vocabulary: it is refused, or the tokenizer made of it encodes and decodes.
#include <cstddef>
#include <cstdint>

#include "format/fuzz_tokenizer_spec.h"
#include "format/rwkv_vocab.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(bytes), size);
  (void)ruv::looks_like_rwkv(text);
  (void)ruv::unescape_rwkv(text);
  ruv::try_tokenizer(ruv::tokenizer_spec_from_rwkv(text, "fuzz"));
  return 0;
}
