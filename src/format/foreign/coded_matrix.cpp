// Chooses blocks for a matrix and fills them row by row.
#include "format/foreign/coded_matrix.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "tensor/formats/affine.h"
#include "tensor/formats/float8.h"
#include "tensor/formats/levels.h"
#include "tensor/formats/mxfp4.h"
#include "tensor/formats/nvfp4.h"
#include "tensor/formats/q4_0.h"
#include "tensor/formats/q8_0.h"

namespace ruv {
namespace {

constexpr int kQ4Zero = 8;  // of q4_0
constexpr int kQ8Least = -128;
constexpr int kQ8Most = 127;

float level_of(CodeKind kind, uint8_t code) {
  switch (kind) {
    case CodeKind::integer:
      return static_cast<float>(code);
    case CodeKind::nf4:
      return kLevelsNf4[code & 0xF];
    case CodeKind::fp4:
      return kLevelsFp4[code & 0xF];
    case CodeKind::e2m1:
      return kLevelsE2m1[code & 0xF];
    case CodeKind::e4m3:
      return f32_from_e4m3(code);
    case CodeKind::e5m2:
      return f32_from_e5m2(code);
  }
  return 0;
}

bool is_exact_f16(float x) {
  const float back = f32_from_f16(f16_from_f32(x));
  return std::bit_cast<uint32_t>(back) == std::bit_cast<uint32_t>(x) && std::isfinite(x);
}

// The exponent of an MXFP4 block with this scale; -1: there is none.
int mx_exponent(float scale) {
  if (!(scale > 0) || !std::isfinite(scale)) return -1;
  int exponent = 0;
  if (std::frexp(scale, &exponent) != 0.5F) return -1;
  const int e = exponent - 1 + 127;
  return e >= 0 && e < 255 ? e : -1;
}

// The code of an NVFP4 group with this scale; -1: there is none.
int nv_scale(float scale) {
  if (!(scale >= 0) || !(scale <= 448.0F) || std::signbit(scale)) return -1;
  if (scale < 0x1p-6F) {
    const float count = scale * 0x1p9F;
    return count == std::floor(count) ? static_cast<int>(count) : -1;
  }
  const auto bits = std::bit_cast<uint32_t>(scale);
  return (bits & 0xFFFFFU) != 0 ? -1 : static_cast<int>((bits >> 20) - (120U << 3));
}

// What the scales and zeros of the rows that were read have in common, and what is known of others.
class ScaleFacts {
 public:
  explicit ScaleFacts(const CodedMatrix& matrix)
      : matrix_(matrix),
        scales_(static_cast<size_t>(matrix.n_groups)),
        zeros_(scales_.size()),
        top_code_((1 << matrix.n_bits) - 1) {}

  void read_row(int64_t row) {
    const bool is_integer = matrix_.kind == CodeKind::integer;
    if (!is_integer || !matrix_.has_f16_scales) matrix_.scales(row, scales_.data());
    if (!is_integer) {
      for (const float scale : scales_) add_scale_of_floats(scale);
      return;
    }
    if (!matrix_.has_f16_scales) half_ = half_ && std::ranges::all_of(scales_, is_exact_f16);
    matrix_.zeros(row, zeros_.data());
    for (const float zero : zeros_) add_zero(zero);
  }
  // No further row is to be read.
  void end() { is_all_ = true; }

  // Each answer is about all rows; unknown where a further one may change it.
  enum class Answer : uint8_t { no, yes, unknown };
  Answer are_f16() const { return answer(half_, matrix_.has_f16_scales); }
  Answer are_whole() const { return answer(whole_, matrix_.zeros_in.has_value()); }
  Answer are_mx() const { return answer(mx_, false); }
  Answer are_nv() const { return answer(nv_, false); }
  // Whether code − zero is within [least, most] for every code. Requires: are_whole() is yes.
  Answer fit(int least, int most) const { return in_range(top_code_ - most, -least); }
  Answer are_bytes() const { return in_range(0, 255); }

 private:
  Answer answer(bool so_far, bool is_known) const {
    if (!so_far) return Answer::no;
    return is_known || is_all_ ? Answer::yes : Answer::unknown;
  }
  Answer in_range(int least, int greatest) const {
    const bool are_known = matrix_.zeros_in && matrix_.zeros_in->least >= least &&
                           matrix_.zeros_in->greatest <= greatest;
    return answer(least_zero_ >= least && greatest_zero_ <= greatest, are_known);
  }
  void add_scale_of_floats(float scale) {
    mx_ = mx_ && mx_exponent(scale) >= 0;
    nv_ = nv_ && nv_scale(scale) >= 0;
  }
  void add_zero(float zero) {
    if (!(std::fabs(zero) <= 1024.0F) || zero != std::floor(zero)) {
      whole_ = false;
      return;
    }
    least_zero_ = std::min(least_zero_, static_cast<int>(zero));
    greatest_zero_ = std::max(greatest_zero_, static_cast<int>(zero));
  }

  const CodedMatrix& matrix_;
  std::vector<float> scales_, zeros_;
  int top_code_;
  bool is_all_ = false;
  bool half_ = true, whole_ = true, mx_ = true, nv_ = true;
  int least_zero_ = 1 << 20;
  int greatest_zero_ = -(1 << 20);
};

using Answer = ScaleFacts::Answer;

// The first block whose condition holds; null while a condition before it is unknown.
struct BlockChoice {
  Answer holds;
  DType dtype;
};
std::optional<DType> first_that_holds(std::initializer_list<BlockChoice> candidates) {
  for (const BlockChoice& candidate : candidates) {
    if (candidate.holds == Answer::unknown) return std::nullopt;
    if (candidate.holds == Answer::yes) return candidate.dtype;
  }
  return std::nullopt;
}

std::optional<DType> integer_blocks(const CodedMatrix& matrix, const ScaleFacts& facts) {
  const bool is_narrow = matrix.n_bits <= 4;
  const DType wide = is_narrow ? DType::a4_f32 : DType::a8_f32;
  if (facts.are_f16() == Answer::no || facts.are_whole() == Answer::no) return wide;
  if (facts.are_f16() != Answer::yes || facts.are_whole() != Answer::yes) return std::nullopt;
  const BlockChoice bytes{facts.fit(kQ8Least, kQ8Most), DType::q8_0};
  if (!is_narrow) return first_that_holds({bytes, {Answer::yes, wide}});
  return first_that_holds({{facts.fit(-kQ4Zero, 15 - kQ4Zero), DType::q4_0},
                           {facts.are_bytes(), DType::a4},
                           bytes,
                           {Answer::yes, wide}});
}

std::optional<DType> e2m1_blocks(const CodedMatrix& matrix, const ScaleFacts& facts) {
  const bool may_be_mx = matrix.group % BlockMxfp4::kSize == 0;
  const bool may_be_nv = matrix.group == 16 && matrix.n_in % BlockNvfp4::kSize == 0;
  return first_that_holds({{may_be_mx ? facts.are_mx() : Answer::no, DType::mxfp4},
                           {may_be_nv ? facts.are_nv() : Answer::no, DType::nvfp4},
                           {Answer::yes, DType::e2m1}});
}

// Null while rows that were not read can change the choice.
std::optional<DType> decided_blocks(const CodedMatrix& matrix, const ScaleFacts& facts) {
  switch (matrix.kind) {
    case CodeKind::integer:
      return integer_blocks(matrix, facts);
    case CodeKind::nf4:
      return DType::nf4;
    case CodeKind::fp4:
      return DType::fp4;
    case CodeKind::e2m1:
      return e2m1_blocks(matrix, facts);
    case CodeKind::e4m3:
      return DType::e4m3;
    case CodeKind::e5m2:
      return DType::e5m2;
  }
  return DType::f32;
}

DType wanted_blocks(const CodedMatrix& matrix) {
  ScaleFacts facts(matrix);
  for (int64_t row = 0; row < matrix.n_out; ++row) {
    if (const std::optional<DType> decided = decided_blocks(matrix, facts)) return *decided;
    facts.read_row(row);
  }
  facts.end();
  return decided_blocks(matrix, facts).value_or(DType::f32);
}

// One block: its codes and the factors of its group.
struct OneBlock {
  const uint8_t* codes;
  float scale, zero;
  CodeKind kind;
};

template <class Block>
void put_halves(const uint8_t* codes, int offset, Block& block) {
  constexpr int kHalf = Block::kSize / 2;
  for (int j = 0; j < kHalf; ++j) {
    const int low = codes[j] + offset;
    const int high = codes[j + kHalf] + offset;
    block.q[j] = static_cast<uint8_t>((low & 0xF) | (high & 0xF) << 4);
  }
}

void put_block(const OneBlock& one, BlockQ4_0& block) {
  block.d = f16_from_f32(one.scale);
  put_halves(one.codes, kQ4Zero - static_cast<int>(one.zero), block);
}
void put_block(const OneBlock& one, BlockQ8_0& block) {
  block.d = f16_from_f32(one.scale);
  const int zero = static_cast<int>(one.zero);
  for (int j = 0; j < BlockQ8_0::kSize; ++j) block.q[j] = static_cast<int8_t>(one.codes[j] - zero);
}
void put_block(const OneBlock& one, BlockA4& block) {
  const uint16_t d = f16_from_f32(one.scale);
  block.d[0] = static_cast<uint8_t>(d & 0xFF);
  block.d[1] = static_cast<uint8_t>(d >> 8);
  block.z = static_cast<uint8_t>(one.zero);
  put_halves(one.codes, 0, block);
}
void put_block(const OneBlock& one, BlockA4F32& block) {
  block.d = one.scale;
  block.z = one.zero;
  put_halves(one.codes, 0, block);
}
void put_block(const OneBlock& one, BlockA8F32& block) {
  block.d = one.scale;
  block.z = one.zero;
  std::copy_n(one.codes, BlockA8F32::kSize, block.q);
}
void put_block(const OneBlock& one, BlockLevels& block) {
  block.d = one.scale;
  put_halves(one.codes, 0, block);
}
void put_block(const OneBlock& one, BlockE2m1& block) {
  block.d = one.scale;
  put_halves(one.codes, 0, block);
}
void put_block(const OneBlock& one, BlockFloat8& block) {
  block.d = one.scale;
  std::copy_n(one.codes, BlockFloat8::kSize, block.q);
}
void put_block(const OneBlock& one, BlockMxfp4& block) {
  block.e = static_cast<uint8_t>(mx_exponent(one.scale));
  put_halves(one.codes, 0, block);
}

// Makes rows of a matrix in the format that was chosen.
class CodedRows final : public RowMaker {
 public:
  CodedRows(CodedMatrix matrix, DType dtype) : matrix_(std::move(matrix)), dtype_(dtype) {}

  void make_row(int64_t row, std::byte* to) const override {
    Row parts{.codes = std::vector<uint8_t>(static_cast<size_t>(matrix_.n_in)),
              .scales = std::vector<float>(static_cast<size_t>(matrix_.n_groups)),
              .zeros = std::vector<float>(static_cast<size_t>(matrix_.n_groups))};
    matrix_.codes(row, parts.codes.data());
    matrix_.scales(row, parts.scales.data());
    if (matrix_.kind == CodeKind::integer) matrix_.zeros(row, parts.zeros.data());
    put_row(parts, to);
  }

 private:
  struct Row {
    std::vector<uint8_t> codes;
    std::vector<float> scales, zeros;
  };

  size_t group_at(int64_t column) const {
    if (!matrix_.group_of.empty()) {
      return static_cast<size_t>(matrix_.group_of[static_cast<size_t>(column)]);
    }
    return static_cast<size_t>(column / matrix_.group);
  }

  template <class Block>
  void put_blocks(const Row& row, std::byte* to) const {
    for (int64_t i = 0; i < matrix_.n_in; i += Block::kSize, to += sizeof(Block)) {
      const size_t g = group_at(i);
      Block block{};
      put_block({row.codes.data() + i, row.scales[g], row.zeros[g], matrix_.kind}, block);
      std::memcpy(to, &block, sizeof block);
    }
  }

  void put_nvfp4(const Row& row, std::byte* to) const {
    for (int64_t i = 0; i < matrix_.n_in; i += BlockNvfp4::kSize, to += sizeof(BlockNvfp4)) {
      BlockNvfp4 block{};
      for (int s = 0; s < 4; ++s) {
        block.scales[s] = static_cast<uint8_t>(nv_scale(row.scales[group_at(i + 16 * s)]));
        const uint8_t* const codes = row.codes.data() + i + 16 * s;
        for (int j = 0; j < 8; ++j) {
          block.q[8 * s + j] = static_cast<uint8_t>((codes[j] & 0xF) | (codes[j + 8] & 0xF) << 4);
        }
      }
      std::memcpy(to, &block, sizeof block);
    }
  }

  void put_numbers(const Row& row, std::byte* to) const {
    for (int64_t i = 0; i < matrix_.n_in; ++i, to += sizeof(float)) {
      const size_t g = group_at(i);
      const float level = level_of(matrix_.kind, row.codes[static_cast<size_t>(i)]);
      const float number = row.scales[g] * (level - row.zeros[g]);
      std::memcpy(to, &number, sizeof number);
    }
  }

  void put_row(const Row& row, std::byte* to) const {
    switch (dtype_) {
      case DType::q4_0:
        return put_blocks<BlockQ4_0>(row, to);
      case DType::q8_0:
        return put_blocks<BlockQ8_0>(row, to);
      case DType::a4:
        return put_blocks<BlockA4>(row, to);
      case DType::a4_f32:
        return put_blocks<BlockA4F32>(row, to);
      case DType::a8_f32:
        return put_blocks<BlockA8F32>(row, to);
      case DType::nf4:
      case DType::fp4:
        return put_blocks<BlockLevels>(row, to);
      case DType::e2m1:
        return put_blocks<BlockE2m1>(row, to);
      case DType::e4m3:
      case DType::e5m2:
        return put_blocks<BlockFloat8>(row, to);
      case DType::mxfp4:
        return put_blocks<BlockMxfp4>(row, to);
      case DType::nvfp4:
        return put_nvfp4(row, to);
      default:
        return put_numbers(row, to);
    }
  }

  CodedMatrix matrix_;
  DType dtype_;
};

}  // namespace

DType blocks_for(const CodedMatrix& matrix) {
  constexpr int64_t kLeastGroup = 16;  // of all blocks
  if (!matrix.group_of.empty()) return DType::f32;
  if (matrix.group < matrix.n_in && matrix.group % kLeastGroup != 0) return DType::f32;
  const DType wanted = wanted_blocks(matrix);
  // A block of NVFP4 has four groups.
  const int64_t size = wanted == DType::nvfp4 ? kLeastGroup : format_of(wanted).block_size;
  const bool has_whole_groups = matrix.group >= matrix.n_in || matrix.group % size == 0;
  const bool fits = matrix.n_in % format_of(wanted).block_size == 0 && has_whole_groups;
  return fits ? wanted : DType::f32;
}

SafetensorsTensor tensor_of_codes(std::string name, const SafetensorsTensor& codes,
                                  CodedMatrix matrix, DType dtype) {
  SafetensorsTensor made{.name = std::move(name),
                         .dtype_name = codes.dtype_name,
                         .dtype = dtype,
                         .shape = {matrix.n_out, matrix.n_in},
                         .bytes = codes.bytes,
                         .maker = nullptr};
  made.maker = std::make_shared<CodedRows>(std::move(matrix), dtype);
  return made;
}

}  // namespace ruv
