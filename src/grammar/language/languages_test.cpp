#include "grammar/language/languages.h"

#include <gtest/gtest.h>

#include <set>

#include "base/rng.h"

namespace ruv::languages_test {
namespace {

constexpr size_t kLongest = 4;

// All texts of the letters a and b up to kLongest bytes.
std::vector<std::string> all_texts() {
  std::vector<std::string> texts = {""};
  for (size_t i = 0; i < texts.size(); ++i) {
    if (texts[i].size() == kLongest) continue;
    texts.push_back(texts[i] + "a");
    texts.push_back(texts[i] + "b");
  }
  return texts;
}

// A language, and which of all_texts() belong to it.
struct Both {
  Language language;
  std::set<std::string> texts;
};

std::set<std::string> concat(const std::set<std::string>& a, const std::set<std::string>& b) {
  std::set<std::string> made;
  for (const std::string& x : a) {
    for (const std::string& y : b) {
      if (x.size() + y.size() <= kLongest) made.insert(x + y);
    }
  }
  return made;
}

std::set<std::string> repeated(const std::set<std::string>& part, uint32_t min, uint32_t max) {
  std::set<std::string> made;
  std::set<std::string> now = {""};
  for (uint32_t i = 0; i <= std::min<uint32_t>(max, min + kLongest); ++i) {
    if (i >= min) made.insert(now.begin(), now.end());
    now = concat(now, part);
  }
  return made;
}

class RandomLanguages {
 public:
  explicit RandomLanguages(uint64_t seed) : rng_(seed) {
    for (const std::string& text : all_texts()) universe_.insert(text);
  }

  Both make(int depth) {
    if (depth == 0) return leaf();
    switch (below(6)) {
      case 0: {
        const Both a = make(depth - 1), b = make(depth - 1);
        return {l.concat(a.language, b.language), concat(a.texts, b.texts)};
      }
      case 1: {
        const Both a = make(depth - 1), b = make(depth - 1);
        std::set<std::string> texts = a.texts;
        texts.insert(b.texts.begin(), b.texts.end());
        return {l.any_of(a.language, b.language), texts};
      }
      case 2: {
        const Both a = make(depth - 1), b = make(depth - 1);
        std::set<std::string> texts;
        for (const std::string& text : a.texts) {
          if (b.texts.contains(text)) texts.insert(text);
        }
        return {l.all_of(a.language, b.language), texts};
      }
      case 3: {
        const Both a = make(depth - 1);
        std::set<std::string> texts;
        for (const std::string& text : universe_) {
          if (!a.texts.contains(text)) texts.insert(text);
        }
        return {l.complement(a.language), texts};
      }
      case 4: {
        const Both a = make(depth - 1);
        const uint32_t min = below(3);
        const uint32_t max = below(2) == 0 ? Languages::kUnlimited : min + below(3);
        return {l.repeat(a.language, min, max), repeated(a.texts, min, max)};
      }
      default:
        return leaf();
    }
  }

  Languages l{1 << 20};

 private:
  uint32_t below(uint32_t n) { return static_cast<uint32_t>(rng_.below(n)); }
  Both leaf() {
    switch (below(6)) {
      case 0:
        return {Language::empty, {""}};
      case 1:
        return {Language::nothing, {}};
      case 2:
        return {l.byte_of(ByteSet::of('a', 'b')), {"a", "b"}};
      case 3:
        return {l.byte_of(ByteSet::of('a')), {"a"}};
      case 4:
        return {l.text("ab"), {"ab"}};
      default:
        return {l.text("b"), {"b"}};
    }
  }
  Rng rng_;
  std::set<std::string> universe_;
};

TEST(Languages, HaveTheTextsThatTheirDefinitionsSay) {
  const std::vector<std::string> texts = all_texts();
  for (uint64_t seed = 0; seed < 3000; ++seed) {
    RandomLanguages random(seed);
    const Both both = random.make(4);
    size_t longest = 0;
    for (const std::string& text : texts) {
      const Language rest = random.l.after(both.language, text);
      ASSERT_EQ(random.l.has_empty(rest), both.texts.contains(text))
          << seed << " \"" << text << '"';
      if (both.texts.contains(text)) longest = std::max(longest, text.size());
    }
    if (!both.texts.empty()) {
      EXPECT_FALSE(random.l.is_nothing(both.language)) << seed;
    }
    EXPECT_GE(random.l.longest(both.language), longest) << seed;
    EXPECT_FALSE(random.l.overflowed());
  }
}

TEST(Languages, EqualOnesHaveOneId) {
  Languages l(1000);
  const Language a = l.text("a"), b = l.text("b"), c = l.text("cd");
  EXPECT_EQ(l.any_of(a, l.any_of(b, c)), l.any_of(std::array{c, b, a, b}));
  EXPECT_EQ(l.concat(l.concat(a, b), c), l.text("abcd"));
  EXPECT_EQ(l.complement(l.complement(c)), c);
  EXPECT_EQ(l.all_of(c, l.complement(c)), Language::nothing);
  EXPECT_EQ(l.any_of(c, l.complement(c)), Language::anything);
  EXPECT_EQ(l.after(l.text("abcd"), "ab"), c);
}

TEST(Languages, EmptinessOfIntersectionsIsFound) {
  Languages l(100000);
  const Language letters = l.star(l.byte_of(ByteSet::of('a', 'z')));
  const Language digits = l.star(l.byte_of(ByteSet::of('0', '9')));
  EXPECT_FALSE(l.is_nothing(l.all_of(letters, digits)));  // the empty text
  const Language both = l.all_of(l.concat(letters, l.text("!")), l.concat(digits, l.text("!!")));
  EXPECT_TRUE(l.is_nothing(both));
  const Language of_six = l.repeat(l.byte_of(ByteSet::of('a', 'z')), 6, 6);
  EXPECT_FALSE(l.is_nothing(l.but(letters, of_six)));
  EXPECT_TRUE(l.is_nothing(l.but(of_six, letters)));
}

TEST(Languages, CountedLoopsNeedNoStateBeforeItIsReached) {
  Languages l(1000);
  const Language many = l.repeat(l.byte_of(ByteSet::of('a')), 0, 65535);
  EXPECT_EQ(l.longest(many), 65535U);
  EXPECT_TRUE(l.has_empty(l.after(many, std::string(200, 'a'))));
  EXPECT_EQ(l.after(many, "ab"), Language::nothing);
  EXPECT_FALSE(l.overflowed());
}

TEST(Languages, AFullStoreSaysSo) {
  Languages l(100);
  Language made = l.text(std::string(200, 'x'));
  EXPECT_TRUE(l.overflowed());
  EXPECT_LE(l.size(), 100U);
  EXPECT_EQ(made, Language::nothing);
}

TEST(Languages, AsDeepAsAllowedIsDerived) {
  Languages l(1 << 20);
  const Language a = l.text("a");
  Language made = a;
  for (int i = 0; i < 130; ++i) {  // three levels each
    made = l.any_of(l.complement(l.concat(made, l.text("b"))), l.text(std::string(i % 7 + 2, 'c')));
  }
  ASSERT_FALSE(l.overflowed());
  for (int i = 0; i < 50; ++i) made = l.after(made, static_cast<uint8_t>("abc"[i % 3]));
  EXPECT_FALSE(l.is_nothing(made));
}

TEST(Languages, DeepExpressionsAreRefused) {
  Languages l(1 << 20);
  Language made = l.text("a");
  for (int i = 0; i < 60000; ++i) made = l.complement(l.concat(made, l.text("b")));
  EXPECT_TRUE(l.overflowed());
}

}  // namespace
}  // namespace ruv::languages_test
