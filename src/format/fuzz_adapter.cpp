// Any bytes through the readers of adapters. The first byte chooses the reader; of those with a
// config the next two are its length.
#include <cstdlib>
#include <vector>

#include "format/adapter_file.h"

namespace {

constexpr const char* kSource = "fuzz";

void touch(const ruv::TensorInfo& matrix) {
  std::vector<float> row(static_cast<size_t>(matrix.shape.back()));
  matrix.decode_row(0, row.data());
  matrix.decode_row(matrix.n_rows() - 1, row.data());
}

void look_at(const ruv::Result<ruv::AdapterFile>& file) {
  if (!file) {
    if (!file.error().message().starts_with(kSource)) std::abort();
    return;
  }
  for (const ruv::AdapterModule& module : file->modules) {
    if (module.a.shape[0] != module.b.shape[1]) std::abort();
    touch(module.a);
    touch(module.b);
    for (const ruv::TensorInfo* column : {&module.magnitudes, &module.biases}) {
      if (column->shape.empty()) continue;
      if (column->n_rows() != module.b.shape[0]) std::abort();
      touch(*column);
    }
  }
  for (const ruv::AdapterStack& stack : file->stacks) {
    const bool fits = stack.a.shape.size() == 3 && stack.b.shape.size() == 3 &&
                      stack.b.shape[0] == stack.n_experts() && stack.b.shape[2] == stack.rank();
    if (!fits) std::abort();
    touch(stack.a);
    touch(stack.b);
  }
  int64_t last = 0;
  for (const ruv::AdapterDirection& direction : file->directions) {
    if (direction.layer <= last || direction.numbers.shape.size() != 1) std::abort();
    last = direction.layer;
    touch(direction.numbers);
  }
  for (const ruv::AdapterWhole& whole : file->wholes) touch(whole.matrix);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  const ruv::Bytes all(reinterpret_cast<const std::byte*>(bytes), size);
  if (size < 3) return 0;
  if (bytes[0] == 0) {
    look_at(ruv::read_gguf_adapter(all.subspan(1), kSource));
    return 0;
  }
  const size_t n_config = std::min<size_t>(bytes[1] | bytes[2] << 8, size - 3);
  const auto config = ruv::parse_json(ruv::as_text(all.subspan(3, n_config)), kSource,
                                      {.depth = 16, .values = 10'000});
  if (!config || !config->is_object()) return 0;
  auto tensors = ruv::parse_safetensors(all.subspan(3 + n_config), kSource);
  if (!tensors) return 0;
  const bool is_mlx = bytes[0] == 1;
  look_at(is_mlx ? ruv::read_mlx_adapter(*config, std::move(*tensors), kSource)
                 : ruv::read_peft_adapter(*config, std::move(*tensors), kSource));
  return 0;
}
