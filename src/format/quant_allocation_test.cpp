// Against every combination, on small problems of random numbers.
#include "format/quant_allocation.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/rng.h"

namespace ruv::quant_allocation_test {
namespace {

using Items = std::vector<std::vector<FormatChoice>>;

// Losses fall by about four for each bit, as those of formats do.
Items random_items(uint64_t seed) {
  Rng rng(seed);
  Items items;
  for (int i = 0; i < 5; ++i) {
    const auto size = static_cast<uint64_t>(100 + 900 * rng.uniform());
    const double scale = std::exp(4 * rng.uniform());
    std::vector<FormatChoice>& choices = items.emplace_back();
    for (uint64_t bits = 2; bits < 6; ++bits) {
      const double loss = scale * std::pow(4.0, -static_cast<double>(bits));
      choices.push_back({bits * size, loss * (0.7 + 0.6 * rng.uniform())});
    }
  }
  return items;
}

struct Sum {
  uint64_t n_bytes = 0;
  double loss = 0;
};

Sum sum_of(const Items& items, const std::vector<size_t>& chosen) {
  Sum sum;
  for (size_t i = 0; i < items.size(); ++i) {
    sum.n_bytes += items[i][chosen[i]].n_bytes;
    sum.loss += items[i][chosen[i]].loss;
  }
  return sum;
}

double best_loss(const Items& items, uint64_t max_bytes) {
  double best = INFINITY;
  std::vector<size_t> chosen(items.size());
  for (int code = 0; code < 1024; ++code) {
    for (size_t i = 0; i < items.size(); ++i) chosen[i] = static_cast<size_t>(code >> (2 * i)) & 3;
    const Sum sum = sum_of(items, chosen);
    if (sum.n_bytes <= max_bytes) best = std::min(best, sum.loss);
  }
  return best;
}

TEST(QuantAllocation, IsCloseToTheBestOfAllCombinations) {
  double worst = 1;
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    const Items items = random_items(seed);
    const uint64_t least = sum_of(items, {0, 0, 0, 0, 0}).n_bytes;
    const uint64_t max_bytes = least * 3 / 2;
    const auto chosen = allocate_formats(items, max_bytes);
    ASSERT_TRUE(chosen.has_value());
    const Sum sum = sum_of(items, *chosen);
    EXPECT_LE(sum.n_bytes, max_bytes);
    worst = std::max(worst, sum.loss / best_loss(items, max_bytes));
  }
  EXPECT_LT(worst, 1.4);  // of five items; each more brings it closer
}

TEST(QuantAllocation, SmallestWhereNothingElseFits) {
  const Items items = random_items(3);
  const uint64_t least = sum_of(items, {0, 0, 0, 0, 0}).n_bytes;
  EXPECT_EQ(allocate_formats(items, least), (std::vector<size_t>{0, 0, 0, 0, 0}));
  EXPECT_FALSE(allocate_formats(items, least - 1).has_value());
}

TEST(QuantAllocation, BestOfAllWhereEverythingFits) {
  const auto chosen = allocate_formats(random_items(4), uint64_t{1} << 40);
  ASSERT_TRUE(chosen.has_value());
  for (size_t i = 0; i < chosen->size(); ++i) EXPECT_EQ((*chosen)[i], 3U) << i;
}

// A larger format that loses more, and one of equal size that does, are not taken.
TEST(QuantAllocation, PassesOverChoicesThatAreWorseInBoth) {
  const Items items{{{100, 5.0}, {100, 4.0}, {150, 6.0}, {200, 1.0}}};
  EXPECT_EQ(allocate_formats(items, 160), (std::vector<size_t>{1}));
  EXPECT_EQ(allocate_formats(items, 200), (std::vector<size_t>{3}));
}

TEST(QuantAllocation, NoItemsTakeNothing) {
  EXPECT_EQ(allocate_formats({}, 0), std::vector<size_t>());
}

}  // namespace
}  // namespace ruv::quant_allocation_test
