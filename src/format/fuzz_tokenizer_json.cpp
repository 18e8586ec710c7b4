// A hostile tokenizer.json: it is refused, or the tokenizer made of it encodes and decodes.
#include <cstddef>
#include <cstdint>

#include "format/tokenizer_json.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(bytes), size);
  // Files of the kind are split at the first zero byte into tokenizer.json and its config.
  const size_t end = std::min(text.find('\0'), text.size());
  const std::string_view config = text.substr(std::min(end + 1, text.size()));
  auto spec = ruv::tokenizer_spec_from_json(text.substr(0, end), config, "fuzz");
  if (!spec) return 0;
  const auto tokenizer = ruv::Tokenizer::create(std::move(*spec));
  if (!tokenizer) return 0;
  const auto ids = (*tokenizer)->encode_prompt("Hello, wörld!  <s>\n12", ruv::SpecialParsing::on);
  (void)(*tokenizer)->decode(ids, true);
  return 0;
}
