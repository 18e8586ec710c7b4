#include "model/content_key.h"

#include <algorithm>
#include <bit>

#include "model/packed_key.h"

namespace ruv {
namespace {

void add_number(KeyText& key, double value) { key.number(std::bit_cast<uint64_t>(value)); }

struct AddValue {
  KeyText& key;
  void operator()(bool value) const { key.number(value); }
  void operator()(int64_t value) const { key.number(static_cast<uint64_t>(value)); }
  void operator()(double value) const { add_number(key, value); }
  void operator()(const std::string& value) const { key.text(value); }
  void operator()(const std::shared_ptr<const MetaArray>& array) const {
    key.number(array->size());
    for (const bool value : array->bools) key.number(value);
    for (const int64_t value : array->integers) (*this)(value);
    for (const double value : array->numbers) add_number(key, value);
    for (const std::string& value : array->strings) key.text(value);
  }
};

void add_tensor(KeyText& key, const TensorInfo& tensor) {
  key.text(tensor.name);
  key.number(static_cast<uint64_t>(tensor.dtype));
  key.number(tensor.transposed);
  key.number(tensor.shape.size());
  for (const int64_t n : tensor.shape) key.number(static_cast<uint64_t>(n));
  const uint64_t n_bytes = tensor.bytes.size();
  const uint64_t n_piece = std::min(kSampledPieceBytes, n_bytes);
  for (uint64_t i = 0; i < kSampledPieces; ++i) {
    const uint64_t begin = (n_bytes - n_piece) / (kSampledPieces - 1) * i;
    const bool last = i + 1 == kSampledPieces;
    key.number(hash_bytes(tensor.bytes.subspan(last ? n_bytes - n_piece : begin, n_piece)));
  }
}

}  // namespace

ContentKey content_key(const ModelFile& file, const Kernels& kernels) {
  KeyText key;
  add_kernels(key, kernels);
  key.text(file.container());
  key.text(file.architecture());
  key.number(file.metadata().size());
  for (const auto& [name, value] : file.metadata()) {
    key.text(name);
    key.number(value.index());
    std::visit(AddValue{key}, value);
  }
  key.number(file.tensors().size());
  for (const TensorInfo& tensor : file.tensors()) add_tensor(key, tensor);
  file.drop_pages();  // the pieces brought their neighbours along
  return {{key.hash(1), key.hash(2)}};
}

}  // namespace ruv
