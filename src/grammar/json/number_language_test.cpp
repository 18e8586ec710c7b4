#include "grammar/json/number_language.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/rng.h"

namespace ruv {
namespace {

bool has(Languages& l, Language language, std::string_view text) {
  return l.has_empty(l.after(language, text));
}

Decimal decimal(std::string_view text) {
  const auto made = Decimal::parse(text);
  EXPECT_TRUE(made) << text;
  return made.value_or(Decimal{});
}

// A text of a plain number, and its value in units of 10^-4.
struct Sample {
  std::string text;
  int64_t value = 0;
};

Sample random_number(Rng& rng) {
  Sample made;
  const auto whole = static_cast<int64_t>(rng.below(rng.below(2) == 0 ? 13 : 2000));
  made.text = std::to_string(whole);
  made.value = whole * 10000;
  if (rng.below(2) == 0) {
    const auto n = 1 + rng.below(4);
    made.text += '.';
    for (int64_t unit = 1000; unit >= static_cast<int64_t>(std::pow(10, 4 - n)); unit /= 10) {
      const auto digit = static_cast<int64_t>(rng.below(3) == 0 ? 0 : rng.below(10));
      made.text += static_cast<char>('0' + digit);
      made.value += digit * unit;
    }
  }
  if (made.value != 0 && rng.below(2) == 0) {
    made.text = "-" + made.text;
    made.value = -made.value;
  }
  return made;
}

TEST(NumberLanguage, BoundsHoldExactly) {
  for (uint64_t seed = 0; seed < 400; ++seed) {
    Rng rng(seed);
    Languages l(1 << 18);
    const Sample bound = random_number(rng);
    const Language from = at_least(l, decimal(bound.text), true);
    const Language above = at_least(l, decimal(bound.text), false);
    for (int i = 0; i < 60; ++i) {
      Sample sample = i == 0 ? bound : random_number(rng);
      if (i % 3 == 1) sample.text += sample.text.find('.') == std::string::npos ? ".00" : "00";
      EXPECT_EQ(has(l, from, sample.text), sample.value >= bound.value)
          << sample.text << " >= " << bound.text;
      EXPECT_EQ(has(l, above, sample.text), sample.value > bound.value)
          << sample.text << " > " << bound.text;
    }
  }
}

TEST(NumberLanguage, MultiplesHoldExactly) {
  for (uint64_t seed = 0; seed < 60; ++seed) {
    Rng rng(seed);
    Languages l(1 << 19);
    Sample step = random_number(rng);
    if (step.value <= 0 || step.value > 200000) continue;
    const auto made = multiple_of(l, decimal(step.text));
    if (!made) {
      EXPECT_EQ(made.error().code(), Code::unsupported);
      continue;
    }
    for (int i = 0; i < 60; ++i) {
      Sample sample = random_number(rng);
      if (i % 2 == 0) {  // a multiple
        const auto times = static_cast<int64_t>(rng.below(50));
        sample.value = step.value * times;
        sample.text = fmt::format("{}.{:04}", sample.value / 10000, sample.value % 10000);
        if (i % 4 == 0) sample.text += "0";
      }
      EXPECT_EQ(has(l, *made, sample.text), sample.value % step.value == 0)
          << sample.text << " of " << step.text;
    }
  }
}

TEST(NumberLanguage, ReadsNumbersAsJsonWritesThem) {
  Languages l(1 << 16);
  const Language all = any_number(l);
  for (const char* text :
       {"0", "-0", "10", "-1.50", "1e5", "1.0E-12", "0.001", "123456789012345678901"}) {
    EXPECT_TRUE(has(l, all, text)) << text;
  }
  for (const char* text : {"", "-", "01", "1.", ".5", "+1", "1e", "1e+", "0x1", "1 ", "NaN"}) {
    EXPECT_FALSE(has(l, all, text)) << text;
  }
  const Language plain = plain_number(l);
  EXPECT_TRUE(has(l, plain, "-0.01"));
  EXPECT_FALSE(has(l, plain, "-0"));
  EXPECT_FALSE(has(l, plain, "-0.00"));
  EXPECT_FALSE(has(l, plain, "1e5"));
  const Language integer = plain_integer(l);
  EXPECT_TRUE(has(l, integer, "-12"));
  EXPECT_FALSE(has(l, integer, "-0"));
  EXPECT_FALSE(has(l, integer, "1.0"));
}

TEST(Decimal, IsExact) {
  EXPECT_EQ(decimal("1.50e2"), (Decimal{false, "150", ""}));
  EXPECT_EQ(decimal("-0.00120"), (Decimal{true, "0", "0012"}));
  EXPECT_EQ(decimal("12e-5"), (Decimal{false, "0", "00012"}));
  EXPECT_EQ(decimal("-0e99"), Decimal{});
  EXPECT_EQ(decimal("9007199254740993"), (Decimal{false, "9007199254740993", ""}));
  EXPECT_EQ(Decimal::parse("1e999999999999").error().code(), Code::unsupported);
  EXPECT_EQ(Decimal::parse("1e-99999").error().code(), Code::unsupported);
  for (const char* text : {"", "-", "1.", "1e", "a", "1 "}) {
    EXPECT_EQ(Decimal::parse(text).error().code(), Code::corrupt) << text;
  }
}

}  // namespace
}  // namespace ruv
