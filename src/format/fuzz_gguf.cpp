// Any bytes through the GGUF parser and the tokenizer tables it leads to: an error or tensors that
// lie inside the bytes.
#include <cstdlib>

#include "format/gguf.h"
#include "format/gguf_vocab.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  const ruv::Bytes span(reinterpret_cast<const std::byte*>(bytes), size);
  const auto file = ruv::parse_gguf(span, "fuzz.gguf");
  if (!file) return file.error().message().starts_with("fuzz.gguf: ") ? 0 : (std::abort(), 0);
  for (const ruv::TensorInfo& tensor : file->tensors) {
    const int64_t row_bytes = ruv::format_of(tensor.dtype).bytes_of(tensor.shape.back());
    const int64_t expected = tensor.n_rows() * row_bytes;
    if (static_cast<int64_t>(tensor.bytes.size()) != expected) std::abort();
    const volatile std::byte* touched = tensor.bytes.data();
    (void)touched[0];
    (void)touched[tensor.bytes.size() - 1];
  }
  (void)ruv::tokenizer_spec_from_metadata(file->metadata, "fuzz.gguf").has_value();
  return 0;
}
