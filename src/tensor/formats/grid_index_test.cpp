// The lists of nearest entries against a search through the whole codebook.
#include "tensor/formats/grid_index.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/rng.h"
#include "tensor/formats/iq_grids.h"

namespace ruv::grid_index_test {
namespace {

// Numbers of entries by distance, ties by number.
std::vector<int> by_distance(const GridBook& book, int point) {
  const auto n_levels = static_cast<int>(book.level.size());
  std::vector<std::pair<float, int>> order;
  for (int e = 0; e < std::ssize(book.entries); ++e) {
    const uint16_t word = book.entries[static_cast<size_t>(e)];
    float distance = 0.0F;
    for (int i = 0, rest = point; i < book.n_digits; ++i, rest /= n_levels) {
      const int index = book.n_digits == 8 ? grid_index_of_8(word, i) : grid_index_of_4(word, i);
      const float gap =
          book.level[static_cast<size_t>(index)] - book.level[static_cast<size_t>(rest % n_levels)];
      distance += gap * gap;
    }
    order.emplace_back(distance, e);
  }
  std::sort(order.begin(), order.end());
  std::vector<int> numbers;
  for (const auto& [distance, e] : order) numbers.push_back(e);
  return numbers;
}

void expect_nearest(const GridBook& book, int n_points) {
  const GridIndex index(book);
  Rng rng(7);
  int n_exact = 0;
  for (int i = 0; i < 60; ++i) {
    const int point = static_cast<int>(rng.next() % static_cast<uint64_t>(n_points));
    const std::vector<int> expected = by_distance(book, point);
    for (size_t k = 0; k < GridIndex::kNear; ++k) {
      ASSERT_EQ(index.near(point)[k], expected[k]) << "point " << point << ", place " << k;
    }
    if (index.entry_at(point) >= 0) {
      EXPECT_EQ(index.entry_at(point), expected[0]);
      ++n_exact;
    }
  }
  EXPECT_GT(n_exact, 0);
  EXPECT_LT(n_exact, 60);
}

TEST(GridIndex, ListsTheNearestEntriesOfEight) {
  constexpr float kLevels[] = {1.0F, 3.125F, 5.375F};
  expect_nearest({kGridIq2S, 8, kLevels}, 6561);
}

TEST(GridIndex, ListsTheNearestEntriesOfFour) {
  constexpr float kLevels[] = {1.0F, 3.0F, 5.0F, 7.0F, 9.0F, 11.0F, 13.0F, 15.0F};
  expect_nearest({kGridIq3S, 4, kLevels}, 4096);
}

// Points that the codebook has are themselves.
TEST(GridIndex, EveryEntryIsFoundAtItsPoint) {
  constexpr float kLevels[] = {-0.875F, 0.125F, 1.125F};
  const GridIndex index({kGridIq1S, 8, kLevels});
  for (int e = 0; e < 2048; ++e) {
    int point = 0;
    for (int i = 8; i-- > 0;) point = 3 * point + grid_index_of_8(kGridIq1S[e], i);
    EXPECT_EQ(index.entry_at(point), e);
  }
}

}  // namespace
}  // namespace ruv::grid_index_test
