#include "text/split/code_point_set.h"

#include <gtest/gtest.h>

#include "base/rng.h"

namespace ruv {
namespace {

using Ranges = std::vector<CodePointRange>;

Ranges ranges_of(const CodePointSet& set) { return {set.ranges().begin(), set.ranges().end()}; }

TEST(CodePointSet, RangesAreSortedAndJoined) {
  const CodePointSet set({{10, 12}, {1, 3}, {4, 5}, {11, 20}, {30, 30}});
  EXPECT_EQ(ranges_of(set), (Ranges{{1, 5}, {10, 20}, {30, 30}}));
  EXPECT_EQ(set.size(), 17U);
}

TEST(CodePointSet, ContainsItsEnds) {
  const CodePointSet set({{5, 7}, {0x10FFFF, 0x10FFFF}});
  for (const uint32_t c : {5U, 6U, 7U, 0x10FFFFU}) EXPECT_TRUE(set.contains(c)) << c;
  for (const uint32_t c : {0U, 4U, 8U, 0x10FFFEU}) EXPECT_FALSE(set.contains(c)) << c;
  EXPECT_FALSE(CodePointSet().contains(0));
}

TEST(CodePointSet, ComplementCoversTheRest) {
  EXPECT_EQ(ranges_of(~CodePointSet()), (Ranges{{0, kLastCodePoint}}));
  EXPECT_TRUE((~CodePointSet::of(0, kLastCodePoint)).empty());
  EXPECT_EQ(ranges_of(~CodePointSet({{0, 3}, {9, 9}})), (Ranges{{4, 8}, {10, kLastCodePoint}}));
}

TEST(CodePointSet, UnionAndIntersectionAgreeWithEachCodePoint) {
  Rng rng(5);
  const auto random_set = [&] {
    Ranges ranges;
    for (uint64_t n = rng.below(6); n > 0; --n) {
      const auto first = static_cast<uint32_t>(rng.below(60));
      ranges.push_back({first, first + static_cast<uint32_t>(rng.below(8))});
    }
    return CodePointSet(ranges);
  };
  for (int i = 0; i < 500; ++i) {
    const CodePointSet a = random_set();
    const CodePointSet b = random_set();
    const CodePointSet either = a | b;
    const CodePointSet both = a & b;
    const CodePointSet rest = ~a;
    for (uint32_t c = 0; c < 80; ++c) {
      EXPECT_EQ(either.contains(c), a.contains(c) || b.contains(c));
      EXPECT_EQ(both.contains(c), a.contains(c) && b.contains(c));
      EXPECT_NE(rest.contains(c), a.contains(c));
    }
  }
}

}  // namespace
}  // namespace ruv
