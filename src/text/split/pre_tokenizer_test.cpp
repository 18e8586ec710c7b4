// Schemes on texts whose words were worked out from the published patterns; the script
// tests/oracle/compare_tokenizers.py compares with a regular-expression engine at length.
#include "text/split/pre_tokenizer.h"

#include <gtest/gtest.h>

#include "base/rng.h"
#include "base/test_share.h"

namespace ruv::pre_tokenizer_test {
namespace {

using Words = std::vector<std::string>;

std::vector<Word> places_of(const PreTokenizer& splitter, std::string_view text) {
  std::vector<Word> all;
  std::vector<Word> words;
  for (size_t at = 0; splitter.next_words(text, at, words);) {
    all.insert(all.end(), words.begin(), words.end());
  }
  return all;
}

Words texts_of(std::string_view text, const std::vector<Word>& places) {
  Words words;
  for (const Word& word : places)
    words.emplace_back(text.substr(word.begin, word.end - word.begin));
  return words;
}

Words words_of(std::string_view scheme, std::string_view text) {
  const Result<PreTokenizer> found = PreTokenizer::find(scheme);
  if (!found) {
    ADD_FAILURE() << found.error().message();
    return {};
  }
  const std::vector<Word> places = places_of(*found, text);
  uint32_t begin = 0;
  for (const Word& word : places) {
    EXPECT_EQ(word.begin, begin);
    EXPECT_GT(word.end, begin);
    begin = word.end;
  }
  EXPECT_EQ(begin, text.size());
  return texts_of(text, places);
}

TEST(PreTokenizer, Gpt2) {
  EXPECT_EQ(words_of("gpt-2", "Hello  world's 123x!?\n\n a"),
            (Words{"Hello", " ", " world", "'s", " 123", "x", "!?", "\n\n", " a"}));
  EXPECT_EQ(words_of("gpt-2", "I'LL a   "), (Words{"I", "'", "LL", " a", "   "}));
  EXPECT_EQ(words_of("gpt-2", "\t\tx"), (Words{"\t", "\t", "x"}));
}

TEST(PreTokenizer, Llama3AndQwen2DifferInDigits) {
  EXPECT_EQ(words_of("llama-bpe", "12345 a\n\n b"), (Words{"123", "45", " a", "\n\n", " b"}));
  EXPECT_EQ(words_of("qwen2", "123 a"), (Words{"1", "2", "3", " a"}));
  EXPECT_EQ(words_of("llama-bpe", "We'LL \tdo.\r\n(x"),
            (Words{"We", "'LL", " ", "\tdo", ".\r\n", "(x"}));
  EXPECT_EQ(words_of("qwen2", "a  \n  b"), (Words{"a", "  \n", " ", " b"}));
}

TEST(PreTokenizer, CaselessContractionsFoldTheLongS) {
  EXPECT_EQ(words_of("qwen2", "it'\u017F x"), (Words{"it", "'\u017F", " x"}));
}

TEST(PreTokenizer, MarksAreLettersOnlyForQwen35) {
  EXPECT_EQ(words_of("qwen2", "\u0928\u092E\u0938\u094D\u0924"),
            (Words{"\u0928\u092E\u0938", "\u094D\u0924"}));
  EXPECT_EQ(words_of("qwen35", "\u0928\u092E\u0938\u094D\u0924").size(), 1U);
}

TEST(PreTokenizer, Gpt4oSplitsByCase) {
  EXPECT_EQ(words_of("gpt-4o", "camelCaseHTTPServer's"), (Words{"camel", "Case", "HTTPServer's"}));
  EXPECT_EQ(words_of("gpt-4o", "\u65E5AB"), (Words{"\u65E5", "AB"}));
  EXPECT_EQ(words_of("gpt-4o", "a/b//\n1234"), (Words{"a", "/b", "//\n", "123", "4"}));
  EXPECT_EQ(words_of("tekken", "it's 12"), (Words{"it", "'s", " ", "1", "2"}));
}

TEST(PreTokenizer, SchemesOfSeveralSteps) {
  EXPECT_EQ(words_of("starcoder", "ab 12"), (Words{"ab", " ", "1", "2"}));
  EXPECT_EQ(words_of("falcon", "a 12345$b"), (Words{"a", " ", "123", "45", "$", "b"}));
  EXPECT_EQ(words_of("deepseek-coder", "ab 12\n.x"), (Words{"ab", " ", "1", "2", "\n", ".", "x"}));
  EXPECT_EQ(words_of("deepseek-llm", "Hi there  "), (Words{"Hi", " there", "  "}));
  EXPECT_EQ(words_of("deepseek-llm", "\u10D0\u3000\u10D0"), (Words{"\u10D0", "\u3000", "\u10D0"}));
  EXPECT_EQ(words_of("deepseek-v3", "ab\u65E5\u672C1234 .x.y"),
            (Words{"ab", "\u65E5\u672C", "123", "4", " .", "x", ".y"}));
}

TEST(PreTokenizer, UnknownSchemeIsRefusedByName) {
  const auto found = PreTokenizer::find("no-such");
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code(), Code::unsupported);
  EXPECT_NE(found.error().message().find("\"no-such\""), std::string::npos);
}

TEST(PreTokenizer, SchemeOfPatterns) {
  const std::string gpt2(patterns::kGpt2);
  EXPECT_EQ(find_scheme(std::vector{gpt2}), "gpt-2");
  EXPECT_EQ(find_scheme(std::vector{std::string(patterns::kDigit), gpt2}), "starcoder");
  EXPECT_EQ(find_scheme(std::vector<std::string>{"[\r\n]", R"(\s?\p{L}+)", R"(\s?\p{P}+)",
                                                 "[一-龥ࠀ-一가-퟿]+", R"(\p{N})"}),
            "deepseek-coder");
  EXPECT_EQ(find_scheme(std::vector<std::string>{"\\w+"}), std::nullopt);
  EXPECT_EQ(find_scheme({}), std::nullopt);
}

TEST(PreTokenizer, BehavioursAsInTokenizers) {
  const auto words = [](SplitBehavior behavior, bool invert) {
    const SplitStep step{.regex = "x", .behavior = behavior, .invert = invert};
    const auto splitter = PreTokenizer::create({&step, 1});
    const std::string_view text = "axxbxcx";
    return texts_of(text, places_of(*splitter, text));
  };
  using enum SplitBehavior;
  EXPECT_EQ(words(isolated, false), (Words{"a", "x", "x", "b", "x", "c", "x"}));
  EXPECT_EQ(words(isolated, true), (Words{"a", "x", "x", "b", "x", "c", "x"}));
  EXPECT_EQ(words(removed, false), (Words{"a", "b", "c"}));
  EXPECT_EQ(words(removed, true), (Words{"x", "x", "x", "x"}));
  EXPECT_EQ(words(merged_with_previous, false), (Words{"ax", "x", "bx", "cx"}));
  EXPECT_EQ(words(merged_with_previous, true), (Words{"a", "x", "xb", "xc", "x"}));
  EXPECT_EQ(words(merged_with_next, false), (Words{"a", "x", "xb", "xc", "x"}));
  EXPECT_EQ(words(merged_with_next, true), (Words{"ax", "x", "bx", "cx"}));
  EXPECT_EQ(words(contiguous, false), (Words{"a", "xx", "b", "x", "c", "x"}));
}

TEST(PreTokenizer, MatchesOfNothingCutToo) {
  const auto words = [](std::string_view regex, std::string_view text) {
    const SplitStep step{.regex = std::string(regex)};
    return texts_of(text, places_of(*PreTokenizer::create({&step, 1}), text));
  };
  EXPECT_EQ(words("", "abc"), (Words{"a", "b", "c"}));
  EXPECT_EQ(words("(?=b)", "abcb"), (Words{"a", "bc", "b"}));
  EXPECT_EQ(words("x*", "axxb"), (Words{"a", "xx", "b"}));
}

TEST(PreTokenizer, LongTextsOfAnyBehaviourComeInBlocks) {
  const SplitStep step{.regex = "\\s+", .behavior = SplitBehavior::removed};
  const auto splitter = PreTokenizer::create({&step, 1});
  std::string text;
  for (int i = 0; i < 10000; ++i) text += "ab  ";
  std::vector<Word> words;
  size_t at = 0;
  ASSERT_TRUE(splitter->next_words(text, at, words));
  EXPECT_LT(words.size(), 5000U);
  EXPECT_EQ(places_of(*splitter, text).size(), 10000U);
}

TEST(PreTokenizer, WithoutStepsTheTextIsOneWord) {
  const auto splitter = PreTokenizer::create({});
  ASSERT_TRUE(splitter);
  EXPECT_EQ(places_of(*splitter, "a b"), (std::vector<Word>{{0, 3}}));
  EXPECT_TRUE(places_of(*splitter, "").empty());
}

TEST(PreTokenizer, ErrorsOfAStepArePassedOn) {
  const SplitStep steps[] = {{.regex = "a"}, {.regex = "(?<=a)b"}};
  const auto splitter = PreTokenizer::create(steps);
  ASSERT_FALSE(splitter);
  EXPECT_NE(splitter.error().message().find("look-behind"), std::string::npos);
  const std::vector<SplitStep> many(17, SplitStep{.regex = "a"});
  EXPECT_FALSE(PreTokenizer::create(many));
}

TEST(PreTokenizer, WordsCoverAnyBytes) {
  Rng rng(3);
  for (const char* scheme : {"gpt-2", "qwen2", "gpt-4o", "falcon", "deepseek-llm", "deepseek-v3"}) {
    for (int i = 0; i < 320 / int{kTestShare}; ++i) {
      std::string text;
      for (uint64_t n = 1 + rng.below(40); n > 0; --n) text += static_cast<char>(rng.next());
      words_of(scheme, text);
    }
  }
}

}  // namespace
}  // namespace ruv::pre_tokenizer_test
