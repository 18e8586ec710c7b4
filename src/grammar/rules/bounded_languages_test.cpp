#include "grammar/rules/bounded_languages.h"

#include <gtest/gtest.h>

#include "grammar/rules/pattern_bounds.h"

namespace ruv {
namespace {

using Parts = std::vector<BoundedLanguage>;

void expect_equal(const LanguageBounds& a, const LanguageBounds& b) {
  EXPECT_EQ(a.height, b.height);
  EXPECT_EQ(a.width, b.width);
  EXPECT_EQ(a.front_height, b.front_height);
  EXPECT_EQ(a.front_width, b.front_width);
}

TEST(BoundedLanguages, PartsThatMayBeEmptyAddToTheHeight) {
  Languages languages(1 << 16);
  BoundedLanguages builder(languages, {.size = 1000, .height = 60});
  const BoundedLanguage a = builder.character(CodePointSet::of('a', 'a'));
  const BoundedLanguage loop = *builder.repeat(a, 0, Languages::kUnlimited);
  EXPECT_EQ(loop.bounds.front_width, 1u);
  EXPECT_EQ(loop.bounds.front_height, a.bounds.front_height + 1);
  const BoundedLanguage three = *builder.concat(Parts{loop, loop, loop});
  EXPECT_EQ(three.bounds.front_width, 3u);
  EXPECT_GE(three.bounds.width, 3u);
  EXPECT_GE(three.bounds.height, three.bounds.front_height);
  const BoundedLanguage after = *builder.concat(Parts{a, loop, a});
  EXPECT_EQ(after.bounds.front_width, 0u);
  EXPECT_GE(after.bounds.width, 1u);
  // What is left of a round that has three such parts precedes the loop.
  const BoundedLanguage outer = *builder.repeat(three, 0, Languages::kUnlimited);
  EXPECT_EQ(outer.bounds.width, three.bounds.width + 1);
  EXPECT_GE(outer.bounds.height, three.bounds.front_height + three.bounds.width);
  EXPECT_EQ(outer.bounds.front_height, three.bounds.front_height + 1);
}

TEST(BoundedLanguages, WhatDoesNotFitIsNotMade) {
  Languages languages(1 << 16);
  BoundedLanguages builder(languages, {.size = 40, .height = 20});
  const BoundedLanguage text = builder.text("0123456789abcdefghi");
  const size_t before = languages.size();
  EXPECT_FALSE(builder.concat(Parts{text, text, text}));
  EXPECT_FALSE(builder.any_of(Parts{text, text, text}));
  EXPECT_FALSE(builder.all_of(Parts{text, text, text}));
  EXPECT_EQ(languages.size(), before);
  EXPECT_TRUE(builder.any_of(Parts{text}));
  BoundedLanguage high = builder.text("a");
  int n_loops = 0;
  for (; const auto more = builder.repeat(high, 2, 3); ++n_loops) high = *more;
  EXPECT_GT(n_loops, 3);
  EXPECT_LT(n_loops, 20);
  EXPECT_FALSE(languages.overflowed());
}

// A pattern's bounds are those of the same made of parts.
TEST(BoundedLanguages, PatternsHaveTheBoundsOfTheirParts) {
  Languages languages(1 << 16);
  BoundedLanguages builder(languages, {.size = 10000, .height = 1000});
  const BoundedLanguage a = builder.character(CodePointSet::of('a', 'a'));
  const BoundedLanguage any_a = *builder.repeat(a, 0, Languages::kUnlimited);
  const BoundedLanguage some_a = *builder.repeat(a, 1, Languages::kUnlimited);
  const auto bounds_of = [](std::string_view text) {
    const Result<Pattern> pattern =
        read_pattern(text, {.syntax = PatternSyntax::re2, .operators = true});
    EXPECT_TRUE(pattern) << text;
    return pattern ? bounds_of_pattern(*pattern) : LanguageBounds();
  };
  const BoundedLanguage sequence = *builder.concat(Parts{any_a, some_a, any_a, any_a, a});
  expect_equal(bounds_of("a*a+a*a*a"), sequence.bounds);
  const BoundedLanguage choice = *builder.any_of(Parts{sequence, any_a});
  expect_equal(bounds_of("(a*a+a*a*a|a*)"), choice.bounds);
  const BoundedLanguage twice = *builder.concat(Parts{choice, choice, a});
  expect_equal(bounds_of("(a*a+a*a*a|a*)(a*a+a*a*a|a*)a"), twice.bounds);
  const BoundedLanguage both = *builder.all_of(Parts{twice, some_a});
  expect_equal(bounds_of("(a*a+a*a*a|a*)(a*a+a*a*a|a*)a&a+"), both.bounds);
  const BoundedLanguage loops =
      *builder.concat(Parts{*builder.repeat(both, 2, 3), *builder.repeat(any_a, 2, 3), some_a, a});
  expect_equal(bounds_of("((a*a+a*a*a|a*)(a*a+a*a*a|a*)a&a+){2,3}(a*){2,3}a+a"), loops.bounds);
}

}  // namespace
}  // namespace ruv
