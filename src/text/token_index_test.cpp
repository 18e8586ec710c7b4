#include "text/token_index.h"

#include <gtest/gtest.h>

namespace ruv {
namespace {

TEST(TokenIndex, FindsTextsAndOnlyThose) {
  TokenIndex index;
  EXPECT_EQ(index.find("a"), std::nullopt);
  for (int i = 0; i < 5000; ++i) index.add(std::to_string(i), i % 2 == 0);
  for (int i = 0; i < 5000; ++i) {
    EXPECT_EQ(index.text(i), std::to_string(i));
    EXPECT_EQ(index.find(std::to_string(i)), i % 2 == 0 ? std::optional<Token>(i) : std::nullopt);
  }
  EXPECT_EQ(index.longest(), 4U);
  EXPECT_EQ(index.find("12345678"), std::nullopt);
}

TEST(TokenIndex, TheFirstOfEqualTextsWinsAndEmptyIsNeverFound) {
  TokenIndex index;
  index.add("");
  index.add("x");
  index.add("x");
  EXPECT_EQ(index.find("x"), 1);
  EXPECT_EQ(index.find(""), std::nullopt);
  EXPECT_EQ(index.text(0), "");
}

}  // namespace
}  // namespace ruv
