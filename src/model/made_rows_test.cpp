// Rows of tensors whose numbers do not follow each other.
#include "model/made_rows.h"

#include <gtest/gtest.h>

#include <numeric>

namespace ruv {
namespace {

// A matrix (4, 3) whose transpose lies in memory: number (i, j) is 4 j + i.
class RowsThatAreMade : public testing::Test {
 protected:
  RowsThatAreMade() {
    std::iota(stored_.begin(), stored_.end(), 0.0F);
    tensor_ = {.name = "blk.0.ffn_up.weight",
               .dtype = DType::f32,
               .shape = {4, 3},
               .bytes = std::as_bytes(std::span(stored_)),
               .steps = {4, 16}};
  }
  static std::vector<float> numbers(const std::byte* row) {
    std::vector<float> result(3);
    std::memcpy(result.data(), row, 12);
    return result;
  }
  uint64_t key() const {
    KeyText text;
    MadeRows::create(tensor_, {0, 4}).value()->add_tensor(text);
    return text.hash(1);
  }
  std::vector<float> stored_ = std::vector<float>(12);
  TensorInfo tensor_;
  WorkerPool pool_{3};
};

TEST_F(RowsThatAreMade, HaveAddressesFirstAndNumbersWhenAsked) {
  const auto made = MadeRows::create(tensor_, {1, 4}).value();
  const std::byte* const rows[] = {made->at(3), made->at(1)};
  EXPECT_EQ(numbers(made->at(3)), (std::vector<float>{0, 0, 0}));
  ASSERT_TRUE(made->make(rows, pool_).ok());
  EXPECT_EQ(numbers(made->at(1)), (std::vector<float>{1, 5, 9}));
  EXPECT_EQ(numbers(made->at(2)), (std::vector<float>{0, 0, 0})) << "nothing asked for it";
  EXPECT_EQ(numbers(made->at(3)), (std::vector<float>{3, 7, 11}));
  stored_[1] = 100;
  ASSERT_TRUE(made->make(rows, pool_).ok());
  EXPECT_EQ(numbers(made->at(1)), (std::vector<float>{1, 5, 9})) << "made once";
}

TEST_F(RowsThatAreMade, AreKnownByTensorTypeAndRow) {
  const auto made = MadeRows::create(tensor_, {1, 4}).value();
  EXPECT_EQ(made->index_of(made->at(2)), 2);
  EXPECT_TRUE(made->has(made->at(3)));
  EXPECT_FALSE(made->has(reinterpret_cast<const std::byte*>(stored_.data())));
  const uint64_t before = key();
  EXPECT_EQ(before, key());
  tensor_.dtype = DType::i32;
  EXPECT_NE(before, key());
  tensor_.dtype = DType::f32;
  tensor_.name = "blk.1.ffn_up.weight";
  EXPECT_NE(before, key());
}

}  // namespace
}  // namespace ruv
