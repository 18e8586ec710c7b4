#include "base/range.h"

#include <gtest/gtest.h>

namespace ruv {
namespace {

TEST(PartOf, CoversEverythingOnceAtUnits) {
  for (int64_t n : {0, 1, 7, 16, 33, 1000}) {
    for (int parts : {1, 2, 3, 8}) {
      int64_t at = 0;
      for (int i = 0; i < parts; ++i) {
        const Range range = part_of(n, i, parts, 16);
        EXPECT_EQ(range.begin, at);
        at = range.end;
        EXPECT_TRUE(at == n || at % 16 == 0);
      }
      EXPECT_EQ(at, n);
    }
  }
}

}  // namespace
}  // namespace ruv
