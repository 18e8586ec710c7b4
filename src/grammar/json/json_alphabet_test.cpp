#include "grammar/json/json_alphabet.h"

#include <gtest/gtest.h>

#include "base/json.h"
#include "base/rng.h"
#include "base/utf8.h"

namespace ruv {
namespace {

struct Letters {
  explicit Letters(const CodePointSet& set, JsonEscapes escapes)
      : language(JsonAlphabet(escapes).character(languages, set)) {}
  bool has(std::string_view text) { return languages.has_empty(languages.after(language, text)); }

  Languages languages{1 << 20};
  Language language;
};

TEST(JsonAlphabet, SpellsACharacterAsAJsonReaderReadsIt) {
  Rng rng(11);
  for (int round = 0; round < 12; ++round) {
    std::vector<CodePointRange> ranges;
    for (int i = 0; i < 6; ++i) {
      const uint32_t limit = i < 3 ? 0x80 : i < 5 ? 0x10000 : 0x110000;
      const auto first = static_cast<uint32_t>(rng.below(limit));
      ranges.push_back({first, std::min<uint32_t>(first + static_cast<uint32_t>(rng.below(40)),
                                                  kLastCodePoint)});
    }
    const CodePointSet set(ranges);
    Letters all(set, JsonEscapes::all);
    Letters needed(set, JsonEscapes::needed);
    std::vector<uint32_t> tried;
    for (uint32_t c = 0; c < 0x100; ++c) tried.push_back(c);
    for (const CodePointRange& range : set.ranges()) {
      for (const uint32_t c : {range.first - 1, range.first, range.last, range.last + 1}) {
        if (c <= kLastCodePoint) tried.push_back(c);
      }
    }
    for (const uint32_t c : tried) {
      if (c >= 0xD800 && c <= 0xDFFF) continue;
      std::string text;
      append_utf8(text, c);
      const std::string quoted = Json(text).dump();
      const std::string written = quoted.substr(1, quoted.size() - 2);
      EXPECT_EQ(all.has(written), set.contains(c)) << c << " " << written;
      const std::string hex =
          c <= 0xFFFF ? fmt::format("\\u{:04X}", c)
                      : fmt::format("\\u{:04x}\\u{:04X}", 0xD800 + ((c - 0x10000) >> 10),
                                    0xDC00 + (c & 0x3FF));
      EXPECT_EQ(all.has(hex), set.contains(c)) << c;
      EXPECT_EQ(needed.has(text), set.contains(c) && c >= 0x20 && c != '"' && c != '\\') << c;
    }
  }
}

TEST(JsonAlphabet, EscapesOnlyWhereItMust) {
  Letters needed(CodePointSet::of(0, kLastCodePoint), JsonEscapes::needed);
  for (const char* text : {"a", "é", "😀", "\\n", "\\\"", "\\\\", "\\u001f", "\\u0000", "\x7F"}) {
    EXPECT_TRUE(needed.has(text)) << text;
  }
  for (const char* text : {"\n", "\"", "\\", "\\/", "\\u0061", "\\u000A", "\\u001F", "\\x41", "ab",
                           "\\ud83d\\ude00", "\\ud83d"}) {
    EXPECT_FALSE(needed.has(text)) << text;
  }
  Letters all(CodePointSet::of(0, kLastCodePoint), JsonEscapes::all);
  for (const char* text : {"\\/", "\\u0061", "\\uD83D\\uDE00", "\\u000A"}) {
    EXPECT_TRUE(all.has(text)) << text;
  }
  for (const char* text : {"\\ud83d", "\\ude00", "\\ud83d\\u0041", "\\u12", "\\a"}) {
    EXPECT_FALSE(all.has(text)) << text;
  }
}

}  // namespace
}  // namespace ruv
