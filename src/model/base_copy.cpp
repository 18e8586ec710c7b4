#include "model/base_copy.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace ruv {
namespace {

// The greatest distance of a row from its rounded form, as a share of its length. Blocks of `bits`
// bits a number are off by about 2^-bits; those of encoders that weight numbers by more.
double rounding_of(DType dtype) {
  const Format& format = format_of(dtype);
  if (dtype == DType::f32) return 0;
  if (dtype == DType::f16) return 0x1p-10;
  if (dtype == DType::bf16) return 0x1p-8;
  const double bits =
      8.0 * static_cast<double>(format.block_bytes) / static_cast<double>(format.block_size);
  return std::min(0.7, 4 * std::exp2(-bits));
}

}  // namespace

const TensorInfo* tensor_of(const Model& model, ModelEnd end) {
  const TensorInfo* const output = model.file->find_tensor("output.weight");
  const bool is_output = end == ModelEnd::output && output != nullptr;
  return is_output ? output : model.file->find_tensor("token_embd.weight");
}

Status check_base_copy(const Model& model, ModelEnd end, const TensorInfo& copy) {
  const TensorInfo* const base = tensor_of(model, end);
  if (base == nullptr || base->shape != copy.shape) {
    return fail(Code::invalid,
                "the base's matrix that it has is of another shape than the model's");
  }
  const auto n = static_cast<size_t>(copy.shape.back());
  std::vector<float> ours(n), theirs(n);
  const double rounding = rounding_of(base->dtype) + rounding_of(copy.dtype);
  for (int64_t row = 0; row < copy.n_rows(); ++row) {
    base->decode_row(row, ours.data());
    copy.decode_row(row, theirs.data());
    double distance = 0, length = 0;
    for (size_t i = 0; i < n; ++i) {
      const double off = double{ours[i]} - double{theirs[i]};
      distance += off * off;
      length += double{theirs[i]} * double{theirs[i]};
    }
    // Also where one of them is not a number.
    if (!(std::sqrt(distance) <= rounding * std::sqrt(length))) {
      return fail(Code::unsupported,
                  "row {} of the base's matrix that it has differs from the model's; adapters with "
                  "another base are not supported",
                  row);
    }
  }
  return {};
}

}  // namespace ruv
