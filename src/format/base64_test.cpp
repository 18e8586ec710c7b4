#include "format/base64.h"

#include <gtest/gtest.h>

namespace ruv::base64_test {
namespace {

std::string decoded(std::string_view text) {
  std::string out = "<";
  return append_base64(text, out) ? out : "wrong " + out;
}

// The test vectors of RFC 4648, section 10.
TEST(Base64, PublishedVectors) {
  EXPECT_EQ(decoded(""), "<");
  EXPECT_EQ(decoded("Zg=="), "<f");
  EXPECT_EQ(decoded("Zm8="), "<fo");
  EXPECT_EQ(decoded("Zm9v"), "<foo");
  EXPECT_EQ(decoded("Zm9vYg=="), "<foob");
  EXPECT_EQ(decoded("Zm9vYmE="), "<fooba");
  EXPECT_EQ(decoded("Zm9vYmFy"), "<foobar");
  EXPECT_EQ(decoded("Zm9vYg"), "<foob");
  EXPECT_EQ(decoded("/+8A"), std::string("<\xFF\xEF\0", 4));
}

TEST(Base64, OtherTextIsRefusedAndLeavesNothing) {
  for (const char* text : {"Z", "Zm9vY", "Zm9 ", "Zg===", "=Zg=", "Zm\xFFv", "Zm-_"}) {
    EXPECT_EQ(decoded(text), "wrong <") << text;
  }
}

}  // namespace
}  // namespace ruv::base64_test
