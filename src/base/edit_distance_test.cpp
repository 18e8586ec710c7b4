#include "base/edit_distance.h"

#include <gtest/gtest.h>

namespace ruv {
namespace {

TEST(EditDistance, CountsTheFewestEdits) {
  EXPECT_EQ(edits_between("", ""), 0U);
  EXPECT_EQ(edits_between("", "abc"), 3U);
  EXPECT_EQ(edits_between("abc", ""), 3U);
  EXPECT_EQ(edits_between("info", "info"), 0U);
  EXPECT_EQ(edits_between("inf", "info"), 1U);
  EXPECT_EQ(edits_between("imfo", "info"), 1U);
  EXPECT_EQ(edits_between("nifo", "info"), 1U) << "neighbours exchanged";
  EXPECT_EQ(edits_between("kitten", "sitting"), 3U);
  EXPECT_EQ(edits_between("ca", "abc"), 3U) << "an exchanged pair is not edited again";
}

}  // namespace
}  // namespace ruv
