#include "model/content_key.h"

#include <algorithm>
#include <bit>

#include "model/packed_key.h"

namespace ruv {
namespace {

struct AddValue {
  KeyText& key;
  void operator()(bool value) const { key.number(value); }
  void operator()(int64_t value) const { key.number(static_cast<uint64_t>(value)); }
  void operator()(double value) const { key.number(std::bit_cast<uint64_t>(value)); }
  void operator()(const std::string& value) const { key.text(value); }
  void operator()(const std::shared_ptr<const MetaArray>& array) const {
    key.number(array->size());
    for (const bool value : array->bools) key.number(value);
    key.number(hash_bytes(std::as_bytes(std::span(array->integers))));
    key.number(hash_bytes(std::as_bytes(std::span(array->numbers))));
    for (const std::string& value : array->strings) key.text(value);
  }
};

Bytes piece_of(Bytes tensor, uint64_t i) {
  const uint64_t n_piece = std::min<uint64_t>(kSampledPieceBytes, tensor.size());
  const uint64_t last = tensor.size() - n_piece;
  const uint64_t begin = i + 1 == kSampledPieces ? last : last / (kSampledPieces - 1) * i;
  return tensor.subspan(begin, n_piece);
}

void add_tensor(KeyText& key, const TensorInfo& tensor) {
  key.text(tensor.name);
  key.number(static_cast<uint64_t>(tensor.dtype));
  key.number(tensor.steps.size());
  for (const int64_t n : tensor.steps) key.number(static_cast<uint64_t>(n));
  key.number(tensor.shape.size());
  for (const int64_t n : tensor.shape) key.number(static_cast<uint64_t>(n));
  for (uint64_t i = 0; i < kSampledPieces; ++i) key.number(hash_bytes(piece_of(tensor.bytes, i)));
}

}  // namespace

ContentKey content_key(const ModelFile& file, const Packing& packing) {
  // All at once: a disk that is asked for one piece after the other takes 50 times as long.
  for (const TensorInfo& tensor : file.tensors()) {
    for (uint64_t i = 0; i < kSampledPieces; ++i) {
      MappedFile::expect_read(piece_of(tensor.bytes, i));
    }
  }
  KeyText key;
  add_packing(key, packing);
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
  file.drop_pages();  // reading the pieces loaded their neighbours too
  return {{key.hash(1), key.hash(2)}};
}

}  // namespace ruv
