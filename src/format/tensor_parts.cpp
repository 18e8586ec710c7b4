// Shapes and steps are changed, numbers are not touched.
#include "format/tensor_parts.h"

#include <cstring>

#include "tensor/formats/mxfp4.h"

namespace ruv {
namespace {

constexpr int64_t kMxBlockBytes = 16;  // of codes

// Rows of MXFP4 whose codes and scales lie apart. A byte has the codes of numbers 2k and 2k + 1; in
// a block of the format it has those of k and k + 16.
class MxRows final : public RowMaker {
 public:
  MxRows(Bytes codes, Bytes scales, int64_t n_blocks)
      : codes_(codes), scales_(scales), n_blocks_(n_blocks) {}

  void make_row(int64_t row, std::byte* to) const override {
    const std::byte* codes = codes_.data() + row * n_blocks_ * kMxBlockBytes;
    const std::byte* const scales = scales_.data() + row * n_blocks_;
    const auto code = [&](int i) {
      return static_cast<uint8_t>(static_cast<uint8_t>(codes[i / 2]) >> (i % 2 * 4) & 0xF);
    };
    for (int64_t b = 0; b < n_blocks_; ++b, codes += kMxBlockBytes) {
      BlockMxfp4 block{.e = static_cast<uint8_t>(scales[b]), .q = {}};
      for (int j = 0; j < 16; ++j) block.q[j] = static_cast<uint8_t>(code(j) | code(j + 16) << 4);
      std::memcpy(to, &block, sizeof block);
      to += sizeof block;
    }
  }

 private:
  Bytes codes_, scales_;
  int64_t n_blocks_;  // of a row
};

// The steps of numbers that follow each other, or of rows that are made.
void fill_steps(TensorInfo& tensor) {
  tensor.steps.resize(tensor.shape.size());
  size_t i = tensor.shape.size();
  int64_t step = format_of(tensor.dtype).block_bytes;
  if (tensor.maker != nullptr) {
    tensor.steps[--i] = 0;
    step = 1;
  }
  for (; i-- > 0; step *= tensor.shape[i]) tensor.steps[i] = step;
}

// Swaps the last two dimensions; numbers stay where they are.
void transpose(TensorInfo& tensor) {
  const size_t last = tensor.shape.size() - 1;
  std::swap(tensor.shape[last - 1], tensor.shape[last]);
  std::swap(tensor.steps[last - 1], tensor.steps[last]);
}

// `tensor` keeps the first role's rows; the other's are returned. Requires: an even number of rows.
TensorInfo take_other(TensorInfo& tensor, size_t rows, const MappedName& name) {
  const int64_t step = tensor.steps[rows];
  tensor.shape[rows] /= 2;
  if (name.form.by_turns) tensor.steps[rows] = 2 * step;
  TensorInfo other = tensor;
  other.name = name.other;
  const int64_t before = name.form.by_turns ? step : tensor.shape[rows] * step;
  if (tensor.maker != nullptr) {
    other.first_row += before;
  } else {
    other.bytes = tensor.bytes.subspan(static_cast<size_t>(before));
  }
  return other;
}

}  // namespace

std::vector<TensorInfo> parts_of(TensorInfo tensor, const MappedName& name, int64_t n_experts) {
  const TensorName& form = name.form;
  std::vector<int64_t>& shape = tensor.shape;
  if (form.depthwise && shape.size() == 3 && shape[1] == 1) shape = {shape[0], shape[2]};
  const bool is_stack = form.stack != ExpertStack::none;
  if (form.stack == ExpertStack::flat && shape.size() == 2 && n_experts > 0 &&
      shape[0] % n_experts == 0) {
    shape = {n_experts, shape[0] / n_experts, shape[1]};
  }
  const bool turns = form.conv1d && tensor.maker == nullptr && shape.size() == (is_stack ? 3 : 2);
  const size_t rows = is_stack ? 1 : 0;
  const bool splits = !name.other.empty() && shape.size() > rows;
  const bool is_plain = format_of(tensor.dtype).block_size == 1;
  const bool is_made = tensor.maker != nullptr;
  if ((!is_plain && !is_made) || tensor.n_elements() == 0) return {tensor};
  if (turns || splits) fill_steps(tensor);
  if (turns) transpose(tensor);
  if (!splits || shape[rows] % 2 != 0) return {tensor};
  TensorInfo other = take_other(tensor, rows, name);
  return {std::move(tensor), std::move(other)};
}

Result<TensorInfo> joined_mxfp4(const SafetensorsTensor& codes, const SafetensorsTensor& scales) {
  std::vector<int64_t> shape = scales.shape;
  shape.push_back(kMxBlockBytes);
  if (codes.dtype_name != "U8" || scales.dtype_name != "U8" || shape.size() < 2 ||
      scales.bytes.empty() || codes.shape != shape) {
    return fail(Code::corrupt, "its codes and scales are not bytes of shapes that fit each other");
  }
  TensorInfo tensor{
      .name = codes.name, .dtype = DType::mxfp4, .shape = scales.shape, .bytes = codes.bytes};
  tensor.maker = std::make_shared<MxRows>(codes.bytes, scales.bytes, tensor.shape.back());
  tensor.shape.back() *= 2 * kMxBlockBytes;
  return tensor;
}

}  // namespace ruv
