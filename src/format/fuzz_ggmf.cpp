// Any bytes as a ggmf file.
#include <cstdlib>

#include "format/ggmf.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  const ruv::Bytes span(reinterpret_cast<const std::byte*>(bytes), size);
  const auto file = ruv::parse_ggmf(span, "fuzz");
  if (file) {
    for (const ruv::TensorInfo& tensor : file->tensors) {
      if (tensor.bytes.empty()) continue;
      const volatile std::byte* touched = tensor.bytes.data();
      (void)touched[0];
      (void)touched[tensor.bytes.size() - 1];
    }
  } else if (!file.error().message().starts_with("fuzz: ")) {
    std::abort();
  }
  return 0;
}
