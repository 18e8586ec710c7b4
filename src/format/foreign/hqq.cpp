// HQQ: numbers in order, cut into groups, of which the codes are a matrix: one group to a row (axis
// 1) or to a column (axis 0). A packed element has the codes of rows k, k + step, … of that matrix,
// the first in the highest bits; 3-bit codes are ten in 32 bits, the others in bytes. scale and
// zero have one number for each group; a number is (code − zero) · scale.
#include "family/word_list.h"
#include "format/foreign/checkpoint.h"

namespace ruv {
namespace {

// How many codes are in an element, and where.
struct HqqPacking {
  int n_bits;
  int n_codes;
  std::string_view dtypes;
};

Result<HqqPacking> packing_of(const SafetensorsTensor& bits, const ForeignCheckpoint& checkpoint) {
  const PieceNumbers numbers(bits);
  const auto is = [&](float n) { return numbers.size() == 1 && numbers.at(0) == n; };
  if (is(8)) return HqqPacking{8, 1, "U8"};
  if (is(4)) return HqqPacking{4, 2, "U8"};
  if (is(3)) return HqqPacking{3, 10, "I32"};
  if (is(2)) return HqqPacking{2, 4, "U8"};
  if (is(1)) return HqqPacking{1, 8, "U8"};
  return checkpoint.wrong(bits, "is none of 1, 2, 3, 4 and 8", Code::unsupported);
}

// A code of row `row` of the matrix of groups, of which the columns are `n_columns`.
struct HqqCodes {
  const std::byte* bytes;
  HqqPacking packing;
  int64_t step, n_columns;

  uint8_t at(int64_t row, int64_t column) const {
    const int64_t i = row % step * n_columns + column;
    const int shift = static_cast<int>((packing.n_codes - 1 - row / step) * packing.n_bits);
    const uint32_t element =
        packing.n_codes == 10 ? word_at(bytes, i) : static_cast<uint32_t>(bytes[i]);
    return static_cast<uint8_t>(element >> shift & ((1U << packing.n_bits) - 1));
  }
};

// A whole number of a tensor with one; -1: there is none.
int64_t whole_of(const SafetensorsTensor* tensor) {
  constexpr std::string_view kDTypes = " I64 I32 I16 I8 U8 BOOL F32 ";
  if (tensor == nullptr || !is_word_of(kDTypes, tensor->dtype_name)) return -1;
  const PieceNumbers numbers(*tensor);
  if (numbers.size() != 1 || !(numbers.at(0) >= 0) || !(numbers.at(0) < 1 << 24)) return -1;
  return static_cast<int64_t>(numbers.at(0));
}

// What HQQ writes beside the weights: settings that are in other tensors too, or without effect.
constexpr std::string_view kSettings[] = {
    "group_size",   "packing",  "unpack_view_dtype",   "compute_dtype", "offload_meta",
    "channel_wise", "optimize", "stores_quant_config", "round_zero",    "encoded_state_dict"};

// The matrix of the shape that the checkpoint gives. Integers are read as such: they may be large.
Result<std::pair<int64_t, int64_t>> hqq_shape(const SafetensorsTensor& shape, int64_t n_codes,
                                              const ForeignCheckpoint& checkpoint) {
  const bool is_pair = shape.bytes.size() == 2 * (shape.dtype_name == "I64" ? 8U : 4U);
  int64_t sizes[2] = {0, 0};
  for (size_t i = 0; is_pair && i < 2; ++i) {
    if (shape.dtype_name == "I64") {
      std::memcpy(&sizes[i], shape.bytes.data() + 8 * i, 8);
    } else {
      sizes[i] = static_cast<int32_t>(word_at(shape.bytes.data(), static_cast<int64_t>(i)));
    }
  }
  if (sizes[0] < 1 || sizes[1] < 1 || sizes[0] > n_codes / sizes[1]) {
    return checkpoint.wrong(shape, fmt::format("does not fit {} packed codes", n_codes));
  }
  return std::pair(sizes[0], sizes[1]);
}

Status read_hqq_module(const std::string& module, ForeignCheckpoint& checkpoint) {
  const SafetensorsTensor& bits = *TRY(checkpoint.need(module, "nbits", "I64 I32 U8 F32 I16 I8"));
  const HqqPacking packing = TRY(packing_of(bits, checkpoint));
  const SafetensorsTensor& codes = *TRY(checkpoint.need(module, "W_q", packing.dtypes));
  const SafetensorsTensor& scales = *TRY(checkpoint.need(module, "scale", "F16 BF16 F32"));
  const SafetensorsTensor& zeros = *TRY(checkpoint.need(module, "zero", "F16 BF16 F32"));
  const SafetensorsTensor& shape = *TRY(checkpoint.need(module, "shape", "I64 I32"));
  const int64_t axis = whole_of(checkpoint.take(module, "axis"));
  if (codes.shape.size() != 2) return checkpoint.wrong(codes, "is not a matrix");
  for (const std::string_view name : {"view_as_float", "quant_scale", "quant_zero"}) {
    const SafetensorsTensor* const flag = checkpoint.take(module, name);
    if (flag != nullptr && whole_of(flag) != 0) {
      return checkpoint.wrong(*flag, "is not false", Code::unsupported);
    }
  }
  const int64_t step = codes.shape[0];
  const int64_t n_columns = codes.shape[1];
  const int64_t n_codes = step * n_columns * packing.n_codes;
  const auto [n_out, n_in] = TRY(hqq_shape(shape, n_codes, checkpoint));
  const int64_t n_rows = n_out * n_in / n_columns;  // of the matrix of groups
  const int64_t n_groups = axis == 0 ? n_columns : n_rows;
  const PieceNumbers factors(scales);
  const PieceNumbers offsets(zeros);
  const bool has_rows = n_out * n_in % n_columns == 0 && ceil_of(n_rows, packing.n_codes) == step;
  if (axis < 0 || axis > 1 || !has_rows || factors.size() != n_groups ||
      offsets.size() != n_groups) {
    return checkpoint.wrong(scales, fmt::format("and zero do not fit a matrix ({}, {}) with "
                                                "groups of {} along axis {}",
                                                n_out, n_in, n_columns, axis));
  }
  CodedMatrix matrix{.n_bits = packing.n_bits, .n_out = n_out, .n_in = n_in};
  const bool is_even = axis == 1 && n_columns % 32 == 0 && n_in % 32 == 0;
  matrix.group = is_even ? 32 : 1;
  matrix.n_groups = n_in / matrix.group;
  const HqqCodes all{codes.bytes.data(), packing, step, n_columns};
  const int64_t width = n_in;
  matrix.codes = [all, width](int64_t row, uint8_t* to) {
    for (int64_t i = 0; i < width; ++i) {
      const int64_t at = row * width + i;
      to[i] = all.at(at / all.n_columns, at % all.n_columns);
    }
  };
  const auto numbers_of = [width, n_columns, axis, group = matrix.group](const PieceNumbers& from) {
    return [from, width, n_columns, axis, group](int64_t row, float* to) {
      for (int64_t i = 0; i < width; i += group) {
        const int64_t at = row * width + i;
        *to++ = from.at(axis == 0 ? at % n_columns : at / n_columns);
      }
    };
  };
  matrix.scales = numbers_of(factors);
  matrix.zeros = numbers_of(offsets);
  matrix.has_f16_scales = has_f16_numbers(scales);
  for (const std::string_view piece : kSettings) checkpoint.drop(module, piece);
  checkpoint.put(module, codes, std::move(matrix));
  return {};
}

}  // namespace

Status read_hqq_tensors(const ForeignConfig& /*config*/, ForeignCheckpoint& checkpoint) {
  for (const std::string& module : checkpoint.modules_with("W_q")) {
    TRY(read_hqq_module(module, checkpoint));
  }
  return {};
}

}  // namespace ruv
