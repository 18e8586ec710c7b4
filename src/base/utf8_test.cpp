#include "base/utf8.h"

#include <gtest/gtest.h>

namespace ruv {
namespace {

TEST(Utf8, RefusesWhatIsNotACharacter) {
  for (const char* bad : {"\x80", "\xC0\xAF", "\xE0\x80\x80", "\xED\xA0\x80", "\xF4\x90\x80\x80",
                          "\xF8\x88\x80\x80\x80", "\xE2\x82"}) {
    EXPECT_FALSE(is_valid_utf8(bad)) << bad;
  }
  EXPECT_TRUE(is_valid_utf8("a¢€😀"));
}

TEST(Utf8, MistakesAreReplacedOnceOrByByte) {
  const std::pair<const char*, const char*> rows[] = {
      {"a\xE2\x82z", "a\uFFFDz"},
      {"\xF0\x9F\x98", "\uFFFD"},
      {"\xF0\x9F", "\uFFFD"},
      {"\xF0\x80\x80\x80", "\uFFFD\uFFFD\uFFFD\uFFFD"},
      {"\xE2\xE2\x82\xAC", "\uFFFD\u20AC"},
      {"\xED\xA0\x80", "\uFFFD\uFFFD\uFFFD"},
      {"\x80\xFF", "\uFFFD\uFFFD"},
  };
  for (const auto& [bytes, text] : rows) EXPECT_EQ(to_valid_utf8(bytes), text) << bytes;
  EXPECT_EQ(to_valid_utf8_bytewise("a\xE2\x82z"), "a\uFFFD\uFFFDz");
  EXPECT_EQ(to_valid_utf8_bytewise("\xF0\x9F\x98\x80"), "\U0001F600");
}

TEST(Utf8, EveryCodePointReturns) {
  for (uint32_t c = 0; c <= 0x10FFFF; c = c == 0xD7FF ? 0xE000 : c + 1) {
    std::string text;
    append_utf8(text, c);
    const CodePoint back = decode_utf8(text, 0);
    ASSERT_TRUE(back.valid);
    ASSERT_EQ(back.value, c);
    ASSERT_EQ(back.size, text.size());
    for (size_t n = 1; n < text.size(); ++n) ASSERT_EQ(whole_utf8_prefix(text.substr(0, n)), 0U);
    ASSERT_EQ(whole_utf8_prefix(text), text.size());
  }
}

}  // namespace
}  // namespace ruv
