#include "text/hex.h"

#include <gtest/gtest.h>

namespace ruv {
namespace {

TEST(Hex, ReadsDigitsAndNothingElse) {
  EXPECT_EQ(parse_hex("0"), 0U);
  EXPECT_EQ(parse_hex("fFfFfFfF"), 0xFFFFFFFFU);
  for (const char* wrong : {"", "123456789", "-1", "0x1", "g", "1 ", "\x80"}) {
    EXPECT_FALSE(parse_hex(wrong)) << wrong;
  }
}

TEST(Hex, ByteTokensHaveTwoCapitalDigits) {
  EXPECT_EQ(byte_of_token("<0x1F>"), 0x1F);
  EXPECT_EQ(byte_of_token("<0xFF>"), 0xFF);
  for (const char* wrong : {"<0x1f>", "<0xaA>", "<0x1>", "<0x1F", "<0x1FF>", "<0x-1>", "<0x+1>",
                            "<0X1F>", "<0x1G>", "0x1F", ""}) {
    EXPECT_FALSE(byte_of_token(wrong)) << wrong;
  }
}

}  // namespace
}  // namespace ruv
