// A hostile tokenizer.json: it is refused, or the tokenizer made of it encodes and decodes.
#include <cstddef>
#include <cstdint>

#include "format/fuzz_tokenizer_spec.h"
#include "format/tokenizer_json.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(bytes), size);
  // Files of the kind are split at the first zero byte into tokenizer.json and its config.
  const size_t end = std::min(text.find('\0'), text.size());
  const std::string_view config = text.substr(std::min(end + 1, text.size()));
  auto spec = ruv::tokenizer_spec_from_json(text.substr(0, end), config, "fuzz");
  ruv::try_tokenizer(std::move(spec));
  return 0;
}
