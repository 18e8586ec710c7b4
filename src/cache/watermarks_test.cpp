// Admission stops at the high mark and begins again at the low one, never between.
#include "cache/watermarks.h"

#include <gtest/gtest.h>

namespace ruv {
namespace {

TEST(Watermarks, StopAtHighAndBeginAgainAtLow) {
  const Watermarks marks{.low = 0.5, .high = 0.75};
  EXPECT_TRUE(marks.admits(true, 74, 100));
  EXPECT_FALSE(marks.admits(true, 75, 100));
  EXPECT_FALSE(marks.admits(false, 74, 100));
  EXPECT_FALSE(marks.admits(false, 51, 100));
  EXPECT_TRUE(marks.admits(false, 50, 100));
}

TEST(Watermarks, AnIdlePoolAdmitsWhateverTheMarks) {
  EXPECT_TRUE((Watermarks{.low = 0, .high = 0}.admits(false, 0, 100)));
  EXPECT_FALSE((Watermarks{.low = 0, .high = 0}.admits(true, 1, 100)));
  EXPECT_TRUE((Watermarks{.low = 1, .high = 1}.admits(false, 100, 100)));
}

}  // namespace
}  // namespace ruv
