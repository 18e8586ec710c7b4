// A hostile SentencePiece model: it is refused, or the tokenizer made of it encodes and decodes.
#include <cstddef>
#include <cstdint>

#include "format/fuzz_tokenizer_spec.h"
#include "format/sentencepiece_model.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  const ruv::Bytes model(reinterpret_cast<const std::byte*>(bytes), size);
  ruv::try_tokenizer(ruv::tokenizer_spec_from_sentencepiece(model, "fuzz"));
  return 0;
}
