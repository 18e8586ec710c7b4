// Which blocks are chosen for a matrix, and after how many of its rows.
#include "format/foreign/coded_matrix.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cmath>

#include "format/foreign/checkpoint.h"
#include "tensor/format.h"

namespace ruv::coded_matrix_test {
namespace {

constexpr int64_t kRows = 50;
constexpr int64_t kColumns = 256;
constexpr float kHalf = 0.5F;       // f16 holds it
constexpr float kThird = 1.0F / 3;  // f16 does not

// What a matrix has, and what is known of it before rows are read.
struct MadeScales {
  CodeKind kind = CodeKind::integer;
  int n_bits = 4;
  int64_t group = 32;
  float first_scale = kHalf, scale = kHalf, last_scale = kHalf;
  float first_zero = 8, zero = 8, last_zero = 8;
  bool has_f16_scales = false;
  std::optional<ZeroRange> zeros_in = {};
};

// A number of the first, the last or another row.
float row_value(int64_t row, float first, float other, float last) {
  if (row == 0) return first;
  return row == kRows - 1 ? last : other;
}

struct RowReads {
  std::atomic<int64_t> n_scales = 0, n_zeros = 0;
};

CodedMatrix matrix_of(const MadeScales& made, RowReads& reads) {
  CodedMatrix matrix{.kind = made.kind, .n_bits = made.n_bits, .n_out = kRows, .n_in = kColumns};
  matrix.group = made.group;
  matrix.n_groups = kColumns / made.group;
  matrix.has_f16_scales = made.has_f16_scales;
  matrix.zeros_in = made.zeros_in;
  const int64_t n_groups = matrix.n_groups;
  matrix.scales = [made, n_groups, &reads](int64_t row, float* to) {
    ++reads.n_scales;
    std::fill_n(to, n_groups, row_value(row, made.first_scale, made.scale, made.last_scale));
  };
  matrix.zeros = [made, n_groups, &reads](int64_t row, float* to) {
    ++reads.n_zeros;
    std::fill_n(to, n_groups, row_value(row, made.first_zero, made.zero, made.last_zero));
  };
  return matrix;
}

TEST(CodedMatrix, BlocksAreChosenByAsFewRowsAsDecide) {
  struct Row {
    const char* what;
    MadeScales made;
    DType blocks;
    int64_t n_scales, n_zeros;
  };
  const ZeroRange nibble{0, 15};
  const Row rows[] = {
      {"nothing is known", {}, DType::q4_0, kRows, kRows},
      {"scales are f16 by their type", {.has_f16_scales = true}, DType::q4_0, 0, kRows},
      {"symmetric by its layout",
       {.has_f16_scales = true, .zeros_in = ZeroRange{8, 8}},
       DType::q4_0,
       0,
       0},
      {"symmetric, other scales", {.zeros_in = ZeroRange{8, 8}}, DType::q4_0, kRows, kRows},
      {"the first zero is another one",
       {.first_zero = 3, .has_f16_scales = true, .zeros_in = nibble},
       DType::a4,
       0,
       1},
      {"the last zero is another one",
       {.last_zero = 3, .has_f16_scales = true, .zeros_in = nibble},
       DType::a4,
       0,
       kRows},
      {"another zero, and no range is known",
       {.first_zero = 3, .has_f16_scales = true},
       DType::a4,
       0,
       kRows},
      {"a zero that no byte holds",
       {.last_zero = -3, .has_f16_scales = true},
       DType::q8_0,
       0,
       kRows},
      {"the first scale is no f16", {.first_scale = kThird}, DType::a4_f32, 1, 1},
      {"the last scale is no f16", {.last_scale = kThird}, DType::a4_f32, kRows, kRows},
      {"the first zero is no integer", {.first_zero = 7.5F}, DType::a4_f32, 1, 1},
      {"the last zero is no integer", {.last_zero = 7.5F}, DType::a4_f32, kRows, kRows},
      {"three bits with any zero",
       {.n_bits = 3, .first_zero = 0, .has_f16_scales = true, .zeros_in = ZeroRange{0, 7}},
       DType::q4_0,
       0,
       0},
      {"eight bits",
       {.n_bits = 8,
        .first_zero = 128,
        .zero = 128,
        .last_zero = 128,
        .has_f16_scales = true,
        .zeros_in = ZeroRange{0, 255}},
       DType::q8_0,
       0,
       kRows},
      {"eight bits, another first zero",
       {.n_bits = 8, .first_zero = 9, .has_f16_scales = true, .zeros_in = ZeroRange{0, 255}},
       DType::a8_f32,
       0,
       1},
      {"groups that no block has", {.group = 8}, DType::f32, 0, 0},
      {"powers of two", {.kind = CodeKind::e2m1}, DType::mxfp4, kRows, 0},
      {"no power of two first", {.kind = CodeKind::e2m1, .first_scale = kThird}, DType::e2m1, 1, 0},
      {"scales of NVFP4", {.kind = CodeKind::e2m1, .group = 16}, DType::nvfp4, kRows, 0},
      {"none of NVFP4 last",
       {.kind = CodeKind::e2m1, .group = 16, .last_scale = kThird},
       DType::e2m1,
       kRows,
       0},
      {"levels", {.kind = CodeKind::nf4}, DType::nf4, 0, 0},
      {"floats of eight bits", {.kind = CodeKind::e4m3, .first_scale = kThird}, DType::e4m3, 0, 0},
  };
  for (const Row& row : rows) {
    RowReads reads;
    const CodedMatrix matrix = matrix_of(row.made, reads);
    EXPECT_STREQ(format_of(blocks_for(matrix)).name, format_of(row.blocks).name) << row.what;
    EXPECT_EQ(reads.n_scales, row.n_scales) << row.what;
    EXPECT_EQ(reads.n_zeros, row.n_zeros) << row.what;
  }
}

// Enough scales that all cores choose: each matrix gets its own block, in the order of the modules.
TEST(CodedMatrix, BlocksOfManyMatricesAreChosenTogether) {
  constexpr int kMatrices = 800;
  RowReads reads;
  const std::vector<std::byte> bytes(16);
  StoredTensors stored = {{"file", {}}};
  SafetensorsTensor codes;
  codes.bytes = bytes;
  ForeignCheckpoint checkpoint(stored);
  for (int i = 0; i < kMatrices; ++i) {
    const MadeScales made{.last_scale = i % 3 == 0 ? kThird : kHalf,
                          .last_zero = i % 3 == 1 ? 3.0F : 8};
    checkpoint.put(fmt::format("m{}", i), codes, matrix_of(made, reads));
  }
  EXPECT_EQ(checkpoint.put_back(), 0);
  ASSERT_EQ(stored[0].second.size(), size_t{kMatrices});
  EXPECT_EQ(reads.n_scales, kMatrices * kRows);
  for (int i = 0; i < kMatrices; ++i) {
    const SafetensorsTensor& tensor = stored[0].second[static_cast<size_t>(i)];
    EXPECT_EQ(tensor.name, fmt::format("m{}.weight", i));
    const DType blocks = i % 3 == 0 ? DType::a4_f32 : i % 3 == 1 ? DType::a4 : DType::q4_0;
    EXPECT_STREQ(format_of(*tensor.dtype).name, format_of(blocks).name) << i;
  }
}

}  // namespace
}  // namespace ruv::coded_matrix_test
