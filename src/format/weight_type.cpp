// Weights that are quantised while a model loads: a tensor of floats becomes one of another format,
// whose rows are encoded when they are read.
#include <atomic>
#include <cmath>

#include "format/model_file.h"
#include "format/quantizable.h"
#include "format/tensor_names.h"

namespace ruv {
namespace {

bool is_plain_float(DType dtype) {
  return dtype == DType::f32 || dtype == DType::f16 || dtype == DType::bf16;
}

class EncodedRows final : public RowMaker {
 public:
  EncodedRows(std::string path, TensorInfo stored, DType to)
      : path_(std::move(path)), stored_(std::move(stored)), to_(format_of(to)) {}

  void make_row(int64_t row, std::byte* to) const override {
    std::vector<float> numbers(static_cast<size_t>(stored_.shape.back()));
    stored_.decode_row(row, numbers.data());
    if (first_misfit(numbers, to_.dtype) >= 0) {
      bad_row_ = row;
      return;
    }
    to_.encode(numbers.data(), nullptr, to, std::ssize(numbers));
  }

  Status status() const override {
    const int64_t row = bad_row_;
    if (row < 0) return {};
    std::vector<float> numbers(static_cast<size_t>(stored_.shape.back()));
    stored_.decode_row(row, numbers.data());
    const int64_t at = first_misfit(numbers, to_.dtype);
    return misfit(path_, stored_.name, row, at, numbers[static_cast<size_t>(at)], to_.dtype);
  }

 private:
  std::string path_;
  TensorInfo stored_;
  const Format& to_;
  mutable std::atomic<int64_t> bad_row_{-1};
};

}  // namespace

Status ModelFile::set_weight_type(std::string_view type_name) {
  if (type_name.empty()) {
    if (!stored_.empty()) tensors_ = stored_;
    weight_type_.clear();
    return {};
  }
  const QuantType* const type = TRY(known_quant_type(type_name));
  if (stored_.empty()) stored_ = tensors_;
  const MixFacts facts = mix_facts(*this);
  for (size_t i = 0; i < stored_.size(); ++i) {
    const TensorInfo& stored = stored_[i];
    tensors_[i] = stored;
    if (!is_plain_float(stored.dtype) || !is_quantizable(stored.name, stored.shape.size()))
      continue;
    const DType to = mixed_format(*type, stored.name, stored.shape.back(), facts);
    if (to == stored.dtype) continue;
    if (needs_importance(*type, stored.name, to)) {
      TRY(set_weight_type({}));
      return fail(
          Code::invalid,
          "{}: {} of tensor '{}' needs to know which columns matter: quantise the file with "
          "`ruvllm quantize --imatrix`",
          path_, format_of(to).name, quoted_name(stored.name));
    }
    tensors_[i].dtype = to;
    tensors_[i].steps.clear();
    tensors_[i].first_row = 0;
    tensors_[i].maker = std::make_shared<EncodedRows>(path_, stored, to);
  }
  weight_type_ = type->name;
  return {};
}

const TensorInfo* ModelFile::find_stored(std::string_view name) const {
  const TensorInfo* const tensor = find_tensor(name);
  if (tensor == nullptr || stored_.empty()) return tensor;
  return &stored_[static_cast<size_t>(tensor - tensors_.data())];
}

}  // namespace ruv
