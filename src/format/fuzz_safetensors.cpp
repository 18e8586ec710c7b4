// Any bytes through the readers of a checkpoint folder: safetensors file, its index, config.json.
#include <cstdlib>
#include <vector>

#include "format/hf_config.h"
#include "format/safetensors.h"

namespace {

// Tensors of drafting heads have one name in a file for each role.
void map_head_names(const std::vector<ruv::SafetensorsTensor>& tensors) {
  for (const bool is_of_class : {false, true}) {
    const ruv::HfParallelHeads heads = {
        .n = 3, .n_blocks = 2, .is_of_class = is_of_class, .class_has_bias = true};
    for (const ruv::SafetensorsTensor& tensor : tensors) {
      const std::string name = heads.gguf_of(tensor.name);
      if (!name.empty() && heads.gguf_of(heads.hf_of(name)) != name) std::abort();
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  const ruv::Bytes span(reinterpret_cast<const std::byte*>(bytes), size);
  const auto file = ruv::parse_safetensors(span, "fuzz");
  if (file) {
    map_head_names(*file);
    for (const ruv::SafetensorsTensor& tensor : *file) {
      if (tensor.bytes.empty()) continue;
      const volatile std::byte* touched = tensor.bytes.data();
      (void)touched[0];
      (void)touched[tensor.bytes.size() - 1];
    }
  } else if (!file.error().message().starts_with("fuzz: ")) {
    std::abort();
  }
  (void)ruv::parse_safetensors_index(ruv::as_text(span), "fuzz").has_value();
  (void)ruv::parse_hf_config(ruv::as_text(span), "fuzz").has_value();
  return 0;
}
