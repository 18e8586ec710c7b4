#include "text/split/char_class.h"

#include <gtest/gtest.h>
#include <utf8proc.h>

namespace ruv {
namespace {

TEST(CharClass, AsciiTableEqualsTheUnicodeTable) {
  for (uint32_t c = 0; c < 128; ++c) {
    const CharSet category = char_set(c) & ~(chars::kSpace | chars::kNewline);
    EXPECT_EQ(category, CharSet{1} << utf8proc_category(static_cast<utf8proc_int32_t>(c))) << c;
  }
}

TEST(CharClass, WhiteSpaceIsTheUnicodeProperty) {
  int n = 0;
  for (uint32_t c = 0; c <= 0x10FFFF; ++c) n += (char_set(c) & chars::kSpace) != 0 ? 1 : 0;
  EXPECT_EQ(n, 25);
  for (const uint32_t c : {0x09U, 0x0DU, 0x20U, 0x85U, 0xA0U, 0x1680U, 0x2028U, 0x202FU, 0x3000U}) {
    EXPECT_TRUE(char_set(c) & chars::kSpace) << c;
  }
  EXPECT_FALSE(char_set(0x200B) & chars::kSpace);
}

TEST(CharClass, ClassesOfSomeCharacters) {
  EXPECT_TRUE(char_set('A') & chars::kUpper);
  EXPECT_TRUE(char_set(U'ß') & chars::kLower);
  EXPECT_TRUE(char_set(U'日') & chars::kOtherLetter);
  EXPECT_TRUE(char_set(U'½') & chars::kNumber);
  EXPECT_TRUE(char_set(0x301) & chars::kMark);
  EXPECT_TRUE(char_set(U'€') & chars::kSymbol);
  EXPECT_TRUE(char_set(U'。') & chars::kPunctuation);
}

TEST(CharClass, PastTheEndIsInNoClass) {
  const Char c = char_at("a", 1);
  EXPECT_EQ(c.size, 0U);
  EXPECT_FALSE(c.in(~CharSet{0}));
  EXPECT_FALSE(c.outside(0));
}

TEST(CharClass, AnInvalidByteIsOneSymbol) {
  const Char c = char_at("\xFFz", 0);
  EXPECT_EQ(c.size, 1U);
  EXPECT_TRUE(c.in(chars::kSymbol));
}

}  // namespace
}  // namespace ruv
