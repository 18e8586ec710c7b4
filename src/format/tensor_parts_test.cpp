// Tensors of checkpoints in other shapes and as parts: which number is where.
#include "format/tensor_parts.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <numeric>

namespace ruv {
namespace {

// The numbers 0, 1, … in this shape.
class Counted {
 public:
  explicit Counted(std::vector<int64_t> shape) {
    tensor_.shape = std::move(shape);
    numbers_.resize(static_cast<size_t>(tensor_.n_elements()));
    std::iota(numbers_.begin(), numbers_.end(), 0.0F);
    tensor_.bytes = std::as_bytes(std::span(numbers_));
  }
  std::vector<TensorInfo> parts(const TensorName& form, int64_t n_experts = 0) const {
    return parts_of(tensor_, {"first", std::string(form.other), form, true}, n_experts);
  }

 private:
  std::vector<float> numbers_;
  TensorInfo tensor_;
};

std::vector<float> row_of(const TensorInfo& tensor, int64_t row) {
  std::vector<float> numbers(static_cast<size_t>(tensor.shape.back()));
  tensor.decode_row(row, numbers.data());
  return numbers;
}

using Row = std::vector<float>;
using Shape = std::vector<int64_t>;

TEST(TensorParts, APlainTensorStaysAsItIs) {
  const Counted counted({2, 3});
  const auto parts = counted.parts({});
  ASSERT_EQ(parts.size(), 1U);
  EXPECT_TRUE(parts[0].steps.empty());
  EXPECT_EQ(row_of(parts[0], 1), (Row{3, 4, 5}));
}

TEST(TensorParts, AConv1dMatrixIsTransposed) {
  const Counted counted({2, 3});
  const auto parts = counted.parts({.conv1d = true});
  ASSERT_EQ(parts.size(), 1U);
  EXPECT_EQ(parts[0].shape, (Shape{3, 2}));
  EXPECT_FALSE(parts[0].has_whole_rows());
  EXPECT_EQ(row_of(parts[0], 2), (Row{2, 5}));
}

TEST(TensorParts, HalvesOfEachExpertAreTwoStacks) {
  const Counted counted({2, 4, 3});
  const auto parts = counted.parts({.stack = ExpertStack::stacked, .other = "second"});
  ASSERT_EQ(parts.size(), 2U);
  EXPECT_EQ(parts[1].name, "second");
  for (const TensorInfo& part : parts) {
    EXPECT_EQ(part.shape, (Shape{2, 2, 3}));
    EXPECT_EQ(part.n_rows(), 4);
    EXPECT_TRUE(part.has_whole_rows());
  }
  EXPECT_EQ(row_of(parts[0], 1), (Row{3, 4, 5}));
  EXPECT_EQ(row_of(parts[0], 2), (Row{12, 13, 14}));
  EXPECT_EQ(row_of(parts[1], 0), (Row{6, 7, 8}));
  EXPECT_EQ(row_of(parts[1], 3), (Row{21, 22, 23}));
}

// As GPT-OSS has them: transposed, and columns by turns.
TEST(TensorParts, RowsByTurnsOfTransposedExperts) {
  const Counted counted({2, 3, 4});
  const auto parts = counted.parts(
      {.conv1d = true, .stack = ExpertStack::stacked, .other = "second", .by_turns = true});
  ASSERT_EQ(parts.size(), 2U);
  EXPECT_EQ(parts[0].shape, (Shape{2, 2, 3}));
  EXPECT_EQ(row_of(parts[0], 0), (Row{0, 4, 8}));
  EXPECT_EQ(row_of(parts[0], 3), (Row{14, 18, 22}));
  EXPECT_EQ(row_of(parts[1], 1), (Row{3, 7, 11}));
}

TEST(TensorParts, BiasesOfExpertsAreSplitAlongEach) {
  const Counted counted({2, 4});
  const auto parts = counted.parts(
      {.conv1d = true, .stack = ExpertStack::stacked, .other = "second", .by_turns = true});
  ASSERT_EQ(parts.size(), 2U);
  EXPECT_EQ(parts[0].shape, (Shape{2, 2}));
  EXPECT_EQ(row_of(parts[0], 1), (Row{4, 6}));
  EXPECT_EQ(row_of(parts[1], 0), (Row{1, 3}));
}

TEST(TensorParts, FlatStacksAreCutByTheNumberOfExperts) {
  const Counted counted({4, 3});
  const auto rows = counted.parts({.stack = ExpertStack::flat}, 2);
  EXPECT_EQ(rows[0].shape, (Shape{2, 2, 3}));
  EXPECT_EQ(row_of(rows[0], 3), (Row{9, 10, 11}));
  const auto columns = counted.parts({.conv1d = true, .stack = ExpertStack::flat}, 2);
  EXPECT_EQ(columns[0].shape, (Shape{2, 3, 2}));
  EXPECT_EQ(row_of(columns[0], 3), (Row{6, 9}));
}

// Two experts of four rows of 64 numbers, whose rows take turns. Number i of row r of expert e is a
// code made of them; its value follows from the specification.
TEST(TensorParts, Mxfp4IsJoinedFromCodesAndScales) {
  constexpr std::array<float, 16> kE2m1 = {0,  0.5F,  1,  1.5F,  2,  3,  4,  6,
                                           -0, -0.5F, -1, -1.5F, -2, -3, -4, -6};
  const auto code_of = [](int64_t row, int64_t i) { return (7 * row + 3 * i) % 16; };
  std::vector<std::byte> codes;
  std::vector<std::byte> scales;
  for (int64_t row = 0; row < 8; ++row) {
    for (int64_t i = 0; i < 64; i += 2) {
      codes.push_back(static_cast<std::byte>(code_of(row, i) | code_of(row, i + 1) << 4));
    }
    for (int64_t block = 0; block < 2; ++block) {
      scales.push_back(static_cast<std::byte>(126 + row + block));
    }
  }
  const SafetensorsTensor all_codes{"codes", "U8", {}, {2, 4, 2, 16}, codes};
  const SafetensorsTensor all_scales{"scales", "U8", {}, {2, 4, 2}, scales};
  const auto joined = joined_mxfp4(all_codes, all_scales);
  ASSERT_TRUE(joined);
  EXPECT_EQ(joined->shape, (Shape{2, 4, 64}));
  const TensorName form{.stack = ExpertStack::stacked, .other = "second", .by_turns = true};
  const auto parts = parts_of(*joined, {"first", "second", form, true}, 2);
  ASSERT_EQ(parts.size(), 2U);
  for (int64_t part = 0; part < 2; ++part) {
    EXPECT_EQ(parts[static_cast<size_t>(part)].shape, (Shape{2, 2, 64}));
    for (int64_t row = 0; row < 4; ++row) {
      const int64_t from = 2 * row + part;
      const Row numbers = row_of(parts[static_cast<size_t>(part)], row);
      for (int64_t i = 0; i < 64; ++i) {
        const float value = kE2m1[static_cast<size_t>(code_of(from, i))];
        const auto exponent = static_cast<int>(from + i / 32 - 1);
        EXPECT_EQ(numbers[static_cast<size_t>(i)], std::ldexp(value, exponent));
      }
    }
  }
}

TEST(TensorParts, HalvesOfMxfp4MustFit) {
  const std::vector<std::byte> bytes(64);
  const SafetensorsTensor codes{"codes", "U8", {}, {2, 2, 16}, bytes};
  EXPECT_TRUE(joined_mxfp4(codes, {"scales", "U8", {}, {2, 2}, Bytes(bytes).first(4)}));
  EXPECT_FALSE(joined_mxfp4(codes, {"scales", "U8", {}, {2, 1}, Bytes(bytes).first(2)}));
  EXPECT_FALSE(joined_mxfp4(codes, {"scales", "I8", DType::i8, {2, 2}, Bytes(bytes).first(4)}));
  EXPECT_FALSE(joined_mxfp4(codes, {"scales", "U8", {}, {}, Bytes(bytes).first(1)}));
}

TEST(TensorParts, WhatDoesNotFitStaysAsItIs) {
  const TensorName halves{.stack = ExpertStack::stacked, .other = "second"};
  EXPECT_EQ(Counted({2, 3, 3}).parts(halves).size(), 1U);
  EXPECT_EQ(Counted({6}).parts(halves).size(), 1U);
  EXPECT_EQ(Counted({2, 0, 3}).parts(halves).size(), 1U);
  EXPECT_EQ(Counted({5, 3}).parts({.stack = ExpertStack::flat}, 2)[0].shape, (Shape{5, 3}));
  EXPECT_EQ(Counted({5, 3}).parts({.stack = ExpertStack::flat}, 0)[0].shape, (Shape{5, 3}));
}

}  // namespace
}  // namespace ruv
