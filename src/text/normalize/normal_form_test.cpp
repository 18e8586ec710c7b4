#include "text/normalize/normal_form.h"

#include <gtest/gtest.h>
#include <utf8proc.h>

#include <cstdlib>

#include "base/rng.h"
#include "base/utf8.h"

namespace ruv {
namespace {

TEST(Normalize, ComposesAndOrders) {
  EXPECT_EQ(nfc("e\u0301"), "\u00E9");
  EXPECT_EQ(nfc("\u212B"), "\u00C5");               // angstrom sign
  EXPECT_EQ(nfc("a\u0301\u0323"), "\u1EA1\u0301");  // marks by class, then composed
  EXPECT_EQ(nfc("\u1112\u1161\u11AB"), "\uD55C");   // Hangul
  EXPECT_EQ(nfc("\u0344"), "\u0308\u0301");         // excluded from composition
  EXPECT_EQ(nfc("\uFB01"), "\uFB01");               // compatibility forms stay
  EXPECT_EQ(nfc("e\xFF\u0301"), "e\xFF\u0301");     // an invalid byte separates
}

TEST(Normalize, EqualsUtf8procOnRandomText) {
  Rng rng(7);
  const uint32_t bases[] = {0x0,    0x300, 0x320, 0x340,  0xC0,  0x61,  0x1100,  0x1161, 0x11A8,
                            0xAC00, 0x915, 0x93C, 0x1E00, 0x5D0, 0x5B0, 0x1D15E, 0x2126, 0xF900};
  for (int i = 0; i < 3000; ++i) {
    std::string text;
    for (uint64_t n = rng.below(12); n > 0; --n) {
      append_utf8(text, bases[rng.below(std::size(bases))] + static_cast<uint32_t>(rng.below(32)));
    }
    const std::string with_end = text + '\0';
    utf8proc_uint8_t* expected =
        utf8proc_NFC(reinterpret_cast<const utf8proc_uint8_t*>(with_end.c_str()));
    ASSERT_NE(expected, nullptr);
    // utf8proc_NFC stops at U+0000.
    EXPECT_EQ(nfc(text.c_str()), reinterpret_cast<const char*>(expected));
    std::free(expected);
  }
}

TEST(Normalize, SurelyNormalTextDoesNotChange) {
  EXPECT_TRUE(is_surely_normal("plain Ünïcödé\n", NormalForm::c));
  EXPECT_FALSE(is_surely_normal("e\u0301", NormalForm::c));
  for (uint32_t c = 1; c < 0x300; ++c) {
    std::string text;
    append_utf8(text, c);
    EXPECT_TRUE(is_surely_normal(text, NormalForm::c)) << c;
    EXPECT_EQ(nfc(text), text) << c;
  }
}

TEST(Normalize, AMillionMarksAreNoTrap) {
  std::string marks = "a";
  for (int i = 0; i < 250'000; ++i) marks += "\u0301\u0323";
  const std::string out = nfc(marks);
  EXPECT_TRUE(out.starts_with("\u1EA1\u0323"));
  EXPECT_TRUE(out.ends_with("\u0301"));
}

}  // namespace
}  // namespace ruv
