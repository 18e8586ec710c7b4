// Goldens are of the package `tokenizers` 0.23 (tokenizers.normalizers).
#include "text/normalize/normalizer.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/rng.h"
#include "base/utf8.h"
#include "text/normalize/charsmap_builder.h"

namespace ruv::normalizer_test {
namespace {

using namespace std::string_literals;
using Kind = NormalizerKind;
using Steps = std::vector<NormalizerStep>;

Steps steps_named(std::string_view name) {
  if (name == "nfc") return {{.kind = Kind::nfc}};
  if (name == "nfd") return {{.kind = Kind::nfd}};
  if (name == "nfkc") return {{.kind = Kind::nfkc}};
  if (name == "nfkd") return {{.kind = Kind::nfkd}};
  if (name == "lowercase") return {{.kind = Kind::lowercase}};
  if (name == "strip_all_marks") return {{.kind = Kind::strip_accents, .pattern = "M"}};
  if (name == "nmt") return {{.kind = Kind::nmt}};
  if (name == "strip") return {{.kind = Kind::strip_left}, {.kind = Kind::strip_right}};
  return {{.kind = Kind::clean_text},
          {.kind = Kind::space_ideographs},
          {.kind = Kind::nfd},
          {.kind = Kind::strip_accents},
          {.kind = Kind::lowercase}};
}

std::string normalized(const Normalizer& normalizer, std::string_view text) {
  NormalizedText out;
  normalizer.apply(text, false, out);
  return out.text;
}

void expect_sound_origin(const Normalizer& normalizer, std::string_view text) {
  NormalizedText plain;
  NormalizedText traced;
  normalizer.apply(text, false, plain);
  normalizer.apply(text, true, traced);
  ASSERT_EQ(plain.text, traced.text);
  ASSERT_EQ(traced.origin.size(), traced.text.size() + 1);
  EXPECT_TRUE(std::is_sorted(traced.origin.begin(), traced.origin.end()));
  EXPECT_EQ(traced.origin.back(), text.size());
  EXPECT_TRUE(normalizer.may_change(text) || plain.text == text);
}

// Short texts of what forms and steps treat differently, some bytes invalid.
std::string random_text(Rng& rng) {
  static const std::string kParts[] = {"a",          "E",          "q",
                                       " ",          "\t",         "\x01",
                                       "I",          "\u0130",     "\u00E9",
                                       "\u0301",     "\u0323",     "\u0307",
                                       "\u0345",     "\u093C",     "\u0915",
                                       "\u0928",     "\u094D",     "\u1112",
                                       "\u1161",     "\u11AB",     "\uD55C",
                                       "\uAC00",     "\uFB01",     "\u00BD",
                                       "\u4E2D",     "\u3042",     "\u3099",
                                       "\uFF76",     "\uFF9E",     "\u200D",
                                       "\u00AD",     "\u3000",     "\u2581",
                                       "\uFFFD",     "\xE3",       "\x80",
                                       "\U0001F3FD", "\U0001D15E", "the quick brown fox",
                                       "\r\n",       "\u1E9B",     "\u0600"};
  std::string text;
  for (uint64_t n = rng.below(12); n > 0; --n) text += kParts[rng.below(std::size(kParts))];
  return text;
}

TEST(Normalizer, EqualsTokenizersPackage) {
  const struct {
    std::string_view steps;
    std::string text;
    std::string expected;
  } rows[] = {
      {"nfc", "e\314\201"s, "\303\251"s},
      {"nfc", "\341\204\222\341\205\241\341\206\253"s, "\355\225\234"s},
      {"nfc", "a\314\243\314\207"s, "\341\272\241\314\207"s},
      {"nfc", "q\314\207\314\243"s, "q\314\243\314\207"s},
      {"nfc", "\340\245\230"s, "\340\244\225\340\244\274"s},
      {"nfc", "\342\204\253"s, "\303\205"s},
      {"nfc", "\341\272\233\314\243"s, "\341\272\233\314\243"s},
      {"nfc", "a\340\242\227\314\201"s, "a\340\242\227\314\201"s},
      {"nfd", "\303\251"s, "e\314\201"s},
      {"nfd", "\355\225\234"s, "\341\204\222\341\205\241\341\206\253"s},
      {"nfd", "\341\272\233\314\243"s, "\305\277\314\243\314\207"s},
      {"nfd", "\340\245\230x"s,
       "\340\244\225\340\244\274"
       "x"s},
      {"nfkc", "\357\254\201\302\275\302\262"s, "fi1\342\201\20422"s},
      {"nfkc", "\341\272\233\314\243"s, "\341\271\251"s},
      {"nfkc", "\357\275\266\357\276\236"s, "\343\202\254"s},
      {"nfkc", "\343\215\277"s, "\346\240\252\345\274\217\344\274\232\347\244\276"s},
      {"nfkc", "\357\267\272"s,
       "\330\265\331\204\331\211 \330\247\331\204\331\204\331\207 \330\271\331\204\331\212\331\207 \331\210\330\263\331\204\331\205"s},
      {"nfkc", "\343\213\277"s, "\343\213\277"s},
      {"nfkd", "\357\254\201\302\275 \303\251"s,
       "fi1\342\201\204"
       "2 e\314\201"s},
      {"nfkd", "\355\225\234"s, "\341\204\222\341\205\241\341\206\253"s},
      {"nfkd", "\341\272\233\314\243"s, "s\314\243\314\207"s},
      {"lowercase", "\316\221\316\243 \316\237\316\224\316\237\316\243"s,
       "\316\261\317\203 \316\277\316\264\316\277\317\203"s},
      {"lowercase", "\304\260I"s, "i\314\207i"s},
      {"lowercase", "\341\272\236\303\211\316\251A"s, "\303\237\303\251\317\211a"s},
      {"lowercase", "\360\220\220\200\360\220\265\220"s, "\360\220\220\250\360\220\265\260"s},
      {"lowercase", "Stra\303\237e \307\205"s, "stra\303\237e \307\206"s},
      {"strip_all_marks", "e\314\201\340\244\203x"s, "ex"s},
      {"strip_all_marks", "a\342\203\235b"s, "ab"s},
      {"strip_all_marks", "\303\251"s, "\303\251"s},
      {"bert",
       "H\303\251llo\011W\303\266rld\302\240x\000"
       "y"s,
       "hello world xy"s},
      {"bert", "a\344\270\255\346\226\207b"s, "a \344\270\255  \346\226\207 b"s},
      {"bert", "\304\260stanbul"s, "istanbul"s},
      {"bert", "e\314\201\302\255\342\200\215x"s, "ex"s},
      {"bert", "\340\244\225\340\244\274\340\244\226 \340\244\203"s,
       "\340\244\225\340\244\226 \340\244\203"s},
      {"bert", "\357\277\275\177\343\200\200!"s, " !"s},
      {"bert", "E\001\314\201"s, "e"s},
      {"nmt", "a\342\200\213b\001c\342\226\201d\357\273\277\013e"s, "a bc d e"s},
      {"strip", "\343\200\200 \302\205a b\011\012"s, "a b"s},
      {"strip", "\342\200\213 a "s, "\342\200\213 a"s},
      {"strip", " "s, ""s},
  };
  for (const auto& row : rows) {
    const Normalizer normalizer = *Normalizer::create(steps_named(row.steps));
    EXPECT_EQ(normalized(normalizer, row.text), row.expected) << row.steps << ": " << row.text;
    EXPECT_TRUE(row.text == row.expected || normalizer.may_change(row.text)) << row.text;
    expect_sound_origin(normalizer, row.text);
  }
}

TEST(Normalizer, RecognisesTextThatStays) {
  const std::string_view texts[] = {
      "plain text, 123", "\u4E2D\u6587\u3001\u6F22\u5B57", "\u65E5\u672C\u8A9E\u3067\u3059",
      "\u0928\u092E\u0938\u094D\u0924\u0947 \u0915\u093F", "caf\u00E9 \uD55C\uAD6D"};
  const Normalizer nfc = *Normalizer::create(steps_named("nfc"));
  const Normalizer nfkc = *Normalizer::create(steps_named("nfkc"));
  for (const std::string_view text : texts) {
    EXPECT_FALSE(nfc.may_change(text)) << text;
    EXPECT_FALSE(nfkc.may_change(text)) << text;
  }
  EXPECT_FALSE(Normalizer().may_change("\u212B"));
  EXPECT_FALSE((*Normalizer::create(steps_named("bert"))).may_change("all lower case, 9"));
  EXPECT_TRUE((*Normalizer::create(steps_named("bert"))).may_change("long enough, but One upper"));
}

// What steps do together is what they do one after another.
TEST(Normalizer, FusesSteps) {
  const Kind kinds[] = {
      Kind::nfc,       Kind::nfd,           Kind::nfkc,       Kind::nfkd,
      Kind::lowercase, Kind::strip_accents, Kind::clean_text, Kind::space_ideographs,
      Kind::nmt,       Kind::strip_left,    Kind::strip_right};
  Rng rng(11);
  for (int i = 0; i < 3000; ++i) {
    Steps steps;
    for (uint64_t n = 1 + rng.below(4); n > 0; --n) {
      steps.push_back({.kind = kinds[rng.below(std::size(kinds))]});
    }
    const std::string text = random_text(rng);
    std::string expected = text;
    for (const NormalizerStep& step : steps) {
      expected = normalized(*Normalizer::create({&step, 1}), expected);
    }
    const Normalizer normalizer = *Normalizer::create(steps);
    ASSERT_EQ(normalized(normalizer, text), expected);
    expect_sound_origin(normalizer, text);
  }
}

TEST(Normalizer, ReplacesAndPrepends) {
  const Steps steps = {{.kind = Kind::prepend, .content = "_"},
                       {.kind = Kind::replace_text, .pattern = "ab", .content = "X"}};
  const Normalizer normalizer = *Normalizer::create(steps);
  NormalizedText out;
  normalizer.apply("cabab\u00E9", true, out);
  EXPECT_EQ(out.text, "_cXX\u00E9");
  EXPECT_EQ(out.origin, (std::vector<uint32_t>{0, 0, 1, 3, 5, 5, 7}));
  normalizer.apply("", true, out);
  EXPECT_EQ(out.text, "");
}

TEST(Normalizer, TracesOrigins) {
  NormalizedText out;
  (*Normalizer::create(steps_named("bert"))).apply("A\u00E9\u4E2D\x01z", true, out);
  EXPECT_EQ(out.text, "ae \u4E2D z");
  EXPECT_EQ(out.origin, (std::vector<uint32_t>{0, 1, 3, 3, 3, 3, 3, 7, 8}));
  (*Normalizer::create(steps_named("nfc"))).apply("xe\u0301y", true, out);
  EXPECT_EQ(out.text, "x\u00E9y");
  EXPECT_EQ(out.origin, (std::vector<uint32_t>{0, 1, 1, 4, 5}));
}

TEST(Normalizer, ReplacesMatchesOfRegularExpressions) {
  const NormalizerStep spaces{.kind = Kind::replace_regex, .pattern = " {2,}", .content = "_"};
  const Normalizer normalizer = *Normalizer::create({&spaces, 1});
  EXPECT_FALSE(normalizer.may_change("a b"));
  NormalizedText out;
  normalizer.apply("a   b  \u00E9", true, out);
  EXPECT_EQ(out.text, "a_b_\u00E9");
  EXPECT_EQ(out.origin, (std::vector<uint32_t>{0, 1, 4, 5, 7, 7, 9}));
  expect_sound_origin(normalizer, "  x  ");
}

TEST(Normalizer, RefusesBrokenRegularExpressions) {
  const NormalizerStep step{.kind = Kind::replace_regex, .pattern = "(", .content = ""};
  EXPECT_FALSE(Normalizer::create({&step, 1}).has_value());
}

NormalizerStep charsmap(const std::map<std::string, std::string>& rules, std::string_view pattern) {
  return {.kind = Kind::charsmap,
          .pattern = std::string(pattern),
          .content = CharsmapBuilder(rules).blob()};
}

TEST(Charsmap, TakesTheLongestKey) {
  const NormalizerStep step =
      charsmap({{"ab", "1"}, {"abc", "2"}, {"\u00E9", ""}, {"\n", " "}}, "");
  const Normalizer normalizer = *Normalizer::create({&step, 1});
  EXPECT_EQ(normalized(normalizer, "xabcab\u00E9\nb"), "x21 b");
  EXPECT_EQ(normalized(normalizer, "\xFFz"), "\uFFFDz");  // as sentencepiece reads bytes
  EXPECT_TRUE(normalizer.may_change("\xFF"));
  EXPECT_FALSE(normalizer.may_change("a long text without a key b"));
}

// A cluster of fewer than 6 bytes is replaced as a whole by its shortest key, else each character.
TEST(Charsmap, LooksUpClusters) {
  const NormalizerStep step =
      charsmap({{"\r", " "}, {"\u0301", "!"}, {"e\u0323", "E"}, {"\u0915", "k"}}, "grapheme");
  const Normalizer normalizer = *Normalizer::create({&step, 1});
  EXPECT_EQ(normalized(normalizer, "a\r\nb"), "a b");
  EXPECT_EQ(normalized(normalizer, "a\u0301\u0301"), "a!!");
  EXPECT_EQ(normalized(normalizer, "\r\u1AE3"), " \u1AE3");             // a line end takes no mark
  EXPECT_EQ(normalized(normalizer, "e\u0323\u1AE3"), "e\u0323\u1AE3");  // 6 bytes
  EXPECT_EQ(normalized(normalizer, "e\u0323\u0301"), "E");
  EXPECT_EQ(normalized(normalizer, "e\u0323\u0301\u0301"), "e\u0323!!");
  EXPECT_EQ(normalized(normalizer, "\u0915\u093C"), "k\u093C");  // 6 bytes: one by one
  EXPECT_EQ(normalized(normalizer, "\xFFz"), "\xFFz");
}

TEST(Charsmap, ReadsHostileBlobs) {
  const std::string good = charsmap({{"ab", "1"}, {"b", "22"}, {"\u00E9", "e"}}, "").content;
  for (const std::string& bad : {"abc"s, "\xFF\xFF\xFF\x7F____"s, "\x03\0\0\0abcd"s, "\0\0\0\0"s}) {
    const NormalizerStep step{.kind = Kind::charsmap, .content = bad};
    EXPECT_FALSE(Normalizer::create({&step, 1}).has_value());
  }
  Rng rng(3);
  for (int i = 0; i < 2000; ++i) {
    NormalizerStep step{.kind = Kind::charsmap,
                        .pattern = i % 2 == 0 ? "" : "grapheme",
                        .content = good.substr(0, good.size() - rng.below(16))};
    for (uint64_t n = 1 + rng.below(40); n > 0; --n) {
      step.content[4 + rng.below(step.content.size() - 4)] = static_cast<char>(rng.below(256));
    }
    const auto normalizer = Normalizer::create({&step, 1});
    if (normalizer) expect_sound_origin(*normalizer, "abab" + random_text(rng));
  }
}

}  // namespace
}  // namespace ruv::normalizer_test
