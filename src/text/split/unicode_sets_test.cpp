// Counts are facts of Unicode 15, the version of utf8proc 2.8; scripts were compared with Python's
// package `regex` code point by code point.
#include "text/split/unicode_sets.h"

#include <gtest/gtest.h>
#include <utf8proc.h>

#include <string>

namespace ruv {
namespace {

TEST(UnicodeSets, CategoriesAgreeWithEveryCodePoint) {
  const char* names[] = {"Cn", "Lu", "Ll", "Lt", "Lm", "Lo", "Mn", "Mc", "Me", "Nd",
                         "Nl", "No", "Pc", "Pd", "Ps", "Pe", "Pi", "Pf", "Po", "Sm",
                         "Sc", "Sk", "So", "Zs", "Zl", "Zp", "Cc", "Cf", "Cs", "Co"};
  std::vector<CodePointSet> sets;
  for (const char* name : names) sets.push_back(*find_unicode_set(name));
  size_t total = 0;
  for (const CodePointSet& set : sets) total += set.size();
  EXPECT_EQ(total, kLastCodePoint + 1);
  int n_wrong = 0;
  for (uint32_t c = 0; c <= kLastCodePoint; ++c) {
    const auto category = static_cast<size_t>(utf8proc_category(static_cast<utf8proc_int32_t>(c)));
    n_wrong += sets[category].contains(c) ? 0 : 1;
  }
  EXPECT_EQ(n_wrong, 0);
}

TEST(UnicodeSets, GroupsAreTheirCategories) {
  EXPECT_EQ(*find_unicode_set("L"), *find_unicode_set("Lu") | *find_unicode_set("Ll") |
                                        *find_unicode_set("Lt") | *find_unicode_set("Lm") |
                                        *find_unicode_set("Lo"));
  EXPECT_EQ(*find_unicode_set("Z"),
            *find_unicode_set("Zs") | *find_unicode_set("Zl") | *find_unicode_set("Zp"));
  EXPECT_EQ(find_unicode_set("C")->size() + find_unicode_set("L")->size() +
                find_unicode_set("M")->size() + find_unicode_set("N")->size() +
                find_unicode_set("P")->size() + find_unicode_set("S")->size() +
                find_unicode_set("Z")->size(),
            kLastCodePoint + 1);
}

TEST(UnicodeSets, NamesAreFoundHoweverWritten) {
  for (const char* name :
       {"Lu", "lu", "Uppercase_Letter", "uppercase letter", "UPPERCASE-LETTER"}) {
    ASSERT_TRUE(find_unicode_set(name)) << name;
    EXPECT_EQ(*find_unicode_set(name), *find_unicode_set("Lu")) << name;
  }
  EXPECT_FALSE(find_unicode_set("Klingon"));
  EXPECT_FALSE(find_unicode_set(""));
}

TEST(UnicodeSets, WhiteSpaceAndWordsAsOnigurumaHasThem) {
  EXPECT_EQ(white_space().size(), 25U);
  EXPECT_FALSE(white_space().contains(0x200B));
  const CodePointSet word = word_characters();
  for (const uint32_t c : {U'a', U'_', U'٣', U'Ⅷ', U'Ⓐ', U'\u0301', U'日'}) {
    EXPECT_TRUE(word.contains(c)) << c;
  }
  for (const uint32_t c : {U'²', U'½', U'-', U'\u200D', U'€'}) EXPECT_FALSE(word.contains(c)) << c;
}

TEST(UnicodeSets, ScriptsHoldTheirLetters) {
  const struct {
    const char* script;
    uint32_t n;
    char32_t in;
    char32_t out;
  } kCases[] = {{"Han", 98408, U'々', U'ー'},    {"Hiragana", 381, U'ひ', U'カ'},
                {"Katakana", 321, U'カ', U'ー'}, {"Hangul", 11739, U'한', U'日'},
                {"Thai", 86, U'ไ', U'฿'},        {"Greek", 518, U'λ', U'a'},
                {"Cyrillic", 506, U'Ж', U'Z'},   {"Latin", 1481, U'ß', U'µ'},
                {"Devanagari", 164, U'न', U'।'}};
  for (const auto& c : kCases) {
    const auto set = find_unicode_set(c.script);
    ASSERT_TRUE(set) << c.script;
    EXPECT_EQ(set->size(), c.n) << c.script;
    EXPECT_TRUE(set->contains(c.in)) << c.script;
    EXPECT_FALSE(set->contains(c.out)) << c.script;
  }
}

}  // namespace
}  // namespace ruv
