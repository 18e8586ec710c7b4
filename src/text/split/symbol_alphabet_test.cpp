#include "text/split/symbol_alphabet.h"

#include <gtest/gtest.h>

#include "base/rng.h"
#include "text/split/unicode_sets.h"

namespace ruv {
namespace {

TEST(SymbolAlphabet, ClassesAreTheCutsOfTheSets) {
  const CodePointSet letters = *find_unicode_set("L");
  const CodePointSet han = *find_unicode_set("Han");
  const CodePointSet ascii = *find_unicode_set("ASCII");
  const CodePointSet* sets[] = {&letters, &han, &ascii};
  const auto alphabet = SymbolAlphabet::create(sets);
  ASSERT_TRUE(alphabet);
  // Letters of ASCII, others in it, Han that are letters, Han that are not, other letters, the
  // rest.
  EXPECT_EQ(alphabet->end_symbol(), 6U);
  for (uint32_t c = 0; c <= kLastCodePoint; ++c) {
    for (size_t i = 0; i < 3; ++i) {
      ASSERT_EQ(alphabet->symbols_of(i).contains(alphabet->class_of(c)), sets[i]->contains(c)) << c;
    }
  }
}

TEST(SymbolAlphabet, WithoutSetsAllCodePointsAreOneClass) {
  const auto alphabet = SymbolAlphabet::create({});
  ASSERT_TRUE(alphabet);
  EXPECT_EQ(alphabet->end_symbol(), 1U);
  EXPECT_EQ(alphabet->class_of(kLastCodePoint), 0U);
}

TEST(SymbolAlphabet, TooManyClassesAreRefused) {
  std::vector<CodePointSet> sets;
  for (uint32_t c = 0; c < 300; ++c) sets.push_back(CodePointSet::of(c * 10, c * 10));
  std::vector<const CodePointSet*> pointers;
  for (const CodePointSet& set : sets) pointers.push_back(&set);
  const auto alphabet = SymbolAlphabet::create(pointers);
  ASSERT_FALSE(alphabet);
  EXPECT_NE(alphabet.error().message().find("255 classes"), std::string::npos);
}

TEST(SymbolAlphabet, DecodesAsUtf8DoesWhateverTheBytes) {
  std::vector<CodePointSet> sets;
  for (uint32_t bit = 0; bit < 6; ++bit) {
    std::vector<CodePointRange> ranges;
    for (uint32_t c = 1U << bit; c < 0x3000; c += 2U << bit)
      ranges.push_back({c, c + (1U << bit) - 1});
    sets.emplace_back(ranges);
  }
  sets.push_back(*find_unicode_set("L"));
  std::vector<const CodePointSet*> pointers;
  for (const CodePointSet& set : sets) pointers.push_back(&set);
  const auto alphabet = SymbolAlphabet::create(pointers);
  ASSERT_TRUE(alphabet);
  Rng rng(2);
  for (int i = 0; i < 20000; ++i) {
    std::string text;
    for (uint64_t n = 1 + rng.below(6); n > 0; --n) {
      if (rng.below(2) == 0) {
        text += static_cast<char>(rng.next());
      } else {
        append_utf8(text, static_cast<uint32_t>(rng.below(0xD800)));
      }
    }
    for (size_t at = 0; at < text.size();) {
      const CodePoint expected = decode_utf8(text, at);
      const SymbolAlphabet::Character c =
          alphabet->character_at(text.data() + at, text.data() + text.size());
      ASSERT_EQ(c.size, expected.size) << testing::PrintToString(text) << " at " << at;
      ASSERT_EQ(c.symbol, alphabet->class_of(expected.value));
      at += c.size;
    }
  }
}

}  // namespace
}  // namespace ruv
