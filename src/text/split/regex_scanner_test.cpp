#include "text/split/regex_scanner.h"

#include <gtest/gtest.h>

namespace ruv {
namespace {

TEST(RegexScanner, FindsTheLeftmostMatchFromAPlace) {
  const auto scanner = RegexScanner::create(" {2,}");
  ASSERT_TRUE(scanner);
  EXPECT_EQ(scanner->find("a b   c  ", 0), (Word{3, 6}));
  EXPECT_EQ(scanner->find("a b   c  ", 4), (Word{4, 6}));
  EXPECT_EQ(scanner->find("a b   c  ", 6), (Word{7, 9}));
  EXPECT_EQ(scanner->find("a b   c  ", 8), std::nullopt);
}

TEST(RegexScanner, MayFindNothingAtAPlace) {
  const auto scanner = RegexScanner::create("x*");
  ASSERT_TRUE(scanner);
  EXPECT_EQ(scanner->find("axx", 0), (Word{0, 0}));
  EXPECT_EQ(scanner->find("axx", 1), (Word{1, 3}));
  EXPECT_EQ(scanner->find("axx", 3), (Word{3, 3}));
}

TEST(RegexScanner, BrokenPatternsAreErrors) {
  EXPECT_EQ(RegexScanner::create("(").error().code(), Code::corrupt);
  EXPECT_EQ(RegexScanner::create("\\bx").error().code(), Code::unsupported);
}

}  // namespace
}  // namespace ruv
