#include "grammar/language/alphabet.h"

#include <gtest/gtest.h>

#include "base/rng.h"
#include "base/utf8.h"

namespace ruv {
namespace {

CodePointSet random_set(Rng& rng) {
  std::vector<CodePointRange> ranges;
  for (int i = 0; i < 12; ++i) {
    const uint32_t limit = rng.uniform() < 0.4 ? 0x300 : rng.uniform() < 0.5 ? 0x12000 : 0x110000;
    const auto first = static_cast<uint32_t>(rng.uniform() * limit);
    const auto more = static_cast<uint32_t>(rng.uniform() * (rng.uniform() < 0.5 ? 4 : 5000));
    ranges.push_back({first, std::min(first + more, kLastCodePoint)});
  }
  return CodePointSet(std::move(ranges));
}

TEST(Utf8Alphabet, WritesTheCharactersOfASetAndNoOthers) {
  Rng rng(5);
  for (int round = 0; round < 20; ++round) {
    Languages l(1 << 20);
    const CodePointSet set = random_set(rng);
    const Language language = Utf8Alphabet().character(l, set);
    for (uint32_t c = 0; c <= kLastCodePoint; c += c < 0x1000 ? 1 : 37) {
      if (c >= 0xD800 && c <= 0xDFFF) continue;
      std::string text;
      append_utf8(text, c);
      ASSERT_EQ(l.has_empty(l.after(language, text)), set.contains(c)) << c;
    }
    for (const CodePointRange& range : set.ranges()) {
      for (const uint32_t c : {range.first, range.last}) {
        if (c >= 0xD800 && c <= 0xDFFF) continue;
        std::string text;
        append_utf8(text, c);
        ASSERT_TRUE(l.has_empty(l.after(language, text))) << c;
      }
    }
  }
}

TEST(Utf8Alphabet, SpellsOnlyValidUtf8) {
  Languages l(1 << 20);
  const Language all = Utf8Alphabet().character(l, CodePointSet::of(0, kLastCodePoint));
  const auto accepts = [&](std::string_view text) { return l.has_empty(l.after(all, text)); };
  EXPECT_TRUE(accepts("\xF4\x8F\xBF\xBF"));
  for (const std::string_view wrong :
       {"\xC0\x80", "\xE0\x80\x80", "\xED\xA0\x80", "\xF4\x90\x80\x80", "\xF0\x8F\xBF\xBF", "\xFF",
        "\x80", "\xE4\xB8", "ab"}) {
    EXPECT_FALSE(accepts(wrong)) << wrong;
  }
}

}  // namespace
}  // namespace ruv
