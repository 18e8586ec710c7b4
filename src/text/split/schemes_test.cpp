// One text through every scheme; the words are those of package `tokenizers` 0.23 (Oniguruma) with
// the same patterns.
#include "text/split/schemes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>

#include "base/utf8.h"
#include "text/split/pre_tokenizer.h"
#include "text/split/published_punctuation.h"
#include "text/split/regex_scanner.h"

namespace ruv::schemes_test {
namespace {

struct SchemeGolden {
  std::string_view scheme;
  std::string_view words;  // joined by ¦
};

constexpr std::string_view kText =
    "Hello I'LL  don't it'ſ 1234567 ½ नमस्ते 日本語々ひらカナ camelCaseHTTPs /usr/bin\r\n\n  x!!\n "
    "\t\t=日A\u00A0 <sentinel:12>IMGIMGABZ e\u0301, $5.00 ¿Қазақ? —   ";

constexpr SchemeGolden kGoldens[] = {
    {"gpt-2",
     "Hello¦ I¦'¦LL¦ ¦ don¦'t¦ it¦'¦ſ¦ 1234567¦ ½¦ नमस¦्¦त¦े¦ 日本語々ひらカナ¦ camelCaseHTTPs¦ "
     "/¦usr¦/¦bin¦\r\n\n ¦ x¦!!¦\n \t¦\t¦=¦日A¦\u00A0¦ <¦sentinel¦:¦12¦>¦IMGIMGABZ¦ e¦\u0301,¦ "
     "$¦5¦.¦00¦ ¿¦Қазақ¦?¦ —¦   "},
    {"llama-bpe",
     "Hello¦ I¦'LL¦ ¦ don¦'t¦ it¦'ſ¦ ¦123¦456¦7¦ ¦½¦ नमस¦्त¦े¦ 日本語々ひらカナ¦ camelCaseHTTPs¦ "
     "/¦usr¦/bin¦\r\n\n¦ ¦ x¦!!\n¦ \t¦\t¦=日A¦\u00A0¦ <¦sentinel¦:¦12¦>IMGIMGABZ¦ e¦\u0301,¦ "
     "$¦5¦.¦00¦ ¿¦Қазақ¦?¦ —¦   "},
    {"qwen2",
     "Hello¦ I¦'LL¦ ¦ don¦'t¦ it¦'ſ¦ ¦1¦2¦3¦4¦5¦6¦7¦ ¦½¦ नमस¦्त¦े¦ 日本語々ひらカナ¦ camelCaseHTTPs¦ "
     "/¦usr¦/bin¦\r\n\n¦ ¦ x¦!!\n¦ \t¦\t¦=日A¦\u00A0¦ <¦sentinel¦:¦1¦2¦>IMGIMGABZ¦ e¦\u0301,¦ "
     "$¦5¦.¦0¦0¦ ¿¦Қазақ¦?¦ —¦   "},
    {"qwen35",
     "Hello¦ I¦'LL¦ ¦ don¦'t¦ it¦'ſ¦ ¦1¦2¦3¦4¦5¦6¦7¦ ¦½¦ नमस्ते¦ 日本語々ひらカナ¦ camelCaseHTTPs¦ "
     "/¦usr¦/bin¦\r\n\n¦ ¦ x¦!!\n¦ \t¦\t¦=日A¦\u00A0¦ <¦sentinel¦:¦1¦2¦>IMGIMGABZ¦ e\u0301¦,¦ "
     "$¦5¦.¦0¦0¦ ¿¦Қазақ¦?¦ —¦   "},
    {"gpt-4o",
     "Hello¦ I'LL¦ ¦ don't¦ it'ſ¦ ¦123¦456¦7¦ ¦½¦ नमस्ते¦ 日本語々ひらカナ¦ camel¦Case¦HTTPs¦ "
     "/¦usr¦/bin¦\r\n\n¦ ¦ x¦!!\n¦ \t¦\t¦=日¦A¦\u00A0¦ <¦sentinel¦:¦12¦>IMGIMGABZ¦ e\u0301¦,¦ "
     "$¦5¦.¦00¦ ¿¦Қазақ¦?¦ —¦   "},
    {"tekken",
     "Hello¦ I¦'LL¦ ¦ don¦'t¦ it¦'ſ¦ ¦1¦2¦3¦4¦5¦6¦7¦ ¦½¦ नमस्ते¦ 日本語々ひらカナ¦ camel¦Case¦HTTPs¦ "
     "/¦usr¦/bin¦\r\n\n¦ ¦ x¦!!\n¦ \t¦\t¦=日¦A¦\u00A0¦ <¦sentinel¦:¦1¦2¦>IMGIMGABZ¦ e\u0301¦,¦ "
     "$¦5¦.¦0¦0¦ ¿¦Қазақ¦?¦ —¦   "},
    {"kimi-k2",
     "Hello¦ I'LL¦ ¦ don't¦ it'ſ¦ ¦123¦456¦7¦ ¦½¦ नमस्ते¦ ¦日本語々¦ひらカナ¦ camel¦Case¦HTTPs¦ "
     "/¦usr¦/bin¦\r\n\n¦ ¦ x¦!!\n¦ \t¦\t¦=¦日¦A¦\u00A0¦ <¦sentinel¦:¦12¦>IMGIMGABZ¦ e\u0301¦,¦ "
     "$¦5¦.¦00¦ ¿¦Қазақ¦?¦ —¦   "},
    {"bailingmoe",
     "Hello¦ I¦'LL¦ ¦ don¦'t¦ it¦'ſ¦ ¦1¦2¦3¦4¦5¦6¦7¦ ¦½¦ नमस¦्त¦े¦ 日本語々ひらカナ¦ camelCaseHTTPs¦ "
     "/¦usr¦/bin¦\r\n\n¦ ¦ x¦!!\n¦ \t¦\t¦=日A¦\u00A0¦ <¦sentinel¦:¦1¦2¦>IMGIMGABZ¦ e¦\u0301,¦ "
     "$¦5¦.¦0¦0¦ ¿¦Қазақ¦?¦ —¦   "},
    {"exaone-moe",
     "Hello I¦'LL¦ ¦ don¦'t¦ it¦'ſ¦ ¦1¦2¦3¦4¦5¦6¦7¦ ¦½¦ नमस्ते 日本語々ひらカナ camelCaseHTTPs¦ "
     "/¦usr¦/bin¦\r\n\n¦ ¦ x¦!!\n¦ \t¦\t¦=日A¦\u00A0¦ <¦sentinel¦:¦1¦2¦>IMGIMGABZ e\u0301¦,¦ "
     "$¦5¦.¦0¦0¦ ¿¦Қазақ¦?¦ —¦   "},
    {"seed-coder",
     "Hello¦ I¦'LL¦ ¦ don¦'t¦ it¦'ſ¦ ¦1¦2¦3¦4¦5¦6¦7¦ ¦½¦ नमस¦्त¦े¦ 日本語々ひらカナ¦ camelCaseHTTPs¦ "
     "/¦usr¦/bin¦\r\n\n¦ ¦ x¦!!¦\n¦ \t¦\t¦=日A¦\u00A0¦ <¦sentinel¦:¦1¦2¦>IMGIMGABZ¦ e¦\u0301,¦ "
     "$¦5¦.¦0¦0¦ ¿¦Қазақ¦?¦ —¦   "},
    {"jais-2",
     "Hello¦ I¦'LL¦ ¦ don¦'t¦ it¦'ſ¦ ¦123¦456¦7¦ ¦½¦ नमस¦्त¦े¦ 日本語々ひらカナ¦ camelCaseHTTPs¦ "
     "/¦usr¦/bin¦\r\n\n¦ ¦ x¦!!\n¦ \t¦\t¦=日A¦\u00A0¦ <¦sentinel¦:¦12¦>IMGIMGABZ¦ e¦\u0301,¦ "
     "$¦5¦.¦00¦ ¿¦Қазақ¦?¦ —¦  ¦ "},
    {"minicpm5",
     "Hello¦ I¦'LL¦ ¦ don¦'t¦ it¦'ſ¦ ¦123¦456¦7¦ ¦½¦ नमस¦्त¦े¦ 日本語々ひらカナ¦ camelCaseHTTPs¦ "
     "/¦usr¦/bin¦\r\n\n¦ ¦ x¦!!\n¦ \t¦\t¦=日A¦\u00A0¦ <¦sentinel¦:¦12¦>IMGIMGABZ¦ e¦\u0301,¦ "
     "$¦5¦.¦00¦ ¿¦Қазақ¦?¦ —¦   "},
    {"bloom",
     "Hello¦ I'LL¦ ¦ don't¦ it'ſ¦ 1234567¦ ½¦ नमस्ते¦ 日本語々ひらカナ¦ camelCaseHTTPs¦ "
     "/usr/bin¦\r\n\n ¦ x¦!!\n \t\t¦=日A¦\u00A0¦ <sentinel:12>IMGIMGABZ¦ e\u0301¦,¦ $5¦.¦00¦ "
     "¿Қазақ¦?¦ —¦   "},
    {"viking",
     "Hello¦ I'LL¦ ¦ don't¦ it'ſ¦ ¦1¦2¦3¦4¦5¦6¦7¦ ¦½¦ नमस्ते¦ 日本語々ひらカナ¦ camelCaseHTTPs¦ "
     "/usr/bin¦\r\n\n ¦ x¦!!\n \t\t¦=日A¦\u00A0¦ <sentinel:¦1¦2¦>IMGIMGABZ¦ e\u0301¦,¦ $¦5¦.¦0¦0¦ "
     "¿Қазақ¦?¦ —¦   "},
    {"gemma4",
     "Hello I'LL  don't it'ſ 1234567 ½ नमस्ते 日本語々ひらカナ camelCaseHTTPs /usr/bin\r¦\n\n¦  "
     "x!!¦\n¦ \t\t=日A\u00A0 <sentinel:12>IMGIMGABZ e\u0301, $5.00 ¿Қазақ? —   "},
    {"starcoder",
     "Hello¦ I¦'¦LL¦ ¦ don¦'t¦ it¦'¦ſ¦ ¦1¦2¦3¦4¦5¦6¦7¦ ¦½¦ नमस¦्¦त¦े¦ 日本語々ひらカナ¦ "
     "camelCaseHTTPs¦ /¦usr¦/¦bin¦\r\n\n ¦ x¦!!¦\n \t¦\t¦=¦日A¦\u00A0¦ "
     "<¦sentinel¦:¦1¦2¦>¦IMGIMGABZ¦ e¦\u0301,¦ $¦5¦.¦0¦0¦ ¿¦Қазақ¦?¦ —¦   "},
    {"chameleon",
     "Hello¦ I¦'¦LL¦  ¦don¦'¦t¦ it¦'¦ſ¦ ¦1¦2¦3¦4¦5¦6¦7¦ ¦½¦ नमस¦्¦त¦े¦ 日本語々ひらカナ¦ "
     "camelCaseHTTPs¦ ¦/¦usr¦/¦bin¦\r¦\n¦\n¦  ¦x¦!¦!¦\n¦ ¦\t¦\t¦=¦日A¦\u00A0 "
     "¦<¦sentinel¦:¦1¦2¦>¦IMGIMGABZ¦ e¦\u0301¦,¦ ¦$¦5¦.¦0¦0¦ ¦¿¦Қазақ¦?¦ ¦—¦  ¦ "},
    {"falcon",
     "Hello¦ I¦'¦LL¦ ¦ don¦'¦t¦ it¦'¦ſ¦ ¦123¦456¦7¦ ½¦ नमस¦्¦त¦े¦ 日本語々ひらカナ¦ camelCaseHTTPs¦ "
     "¦/¦usr¦/¦bin¦\r\n\n ¦ x¦!!¦\n \t\t¦=¦日A¦\u00A0 ¦<¦sentinel¦:¦12¦>¦IMGIMGABZ¦ e¦\u0301¦,¦ "
     "¦$¦5¦.¦00¦ ¦¿¦Қазақ¦?¦ ¦—¦   "},
    {"default",
     "Hello¦ I¦'¦LL¦ ¦ don¦'¦t¦ it¦'¦ſ¦ ¦123¦456¦7¦ ¦½¦ नमस¦्¦त¦े¦ 日本語々ひらカナ¦ camelCaseHTTPs¦ "
     "¦/¦usr¦/¦bin¦\r\n\n ¦ x¦!!¦\n \t\t¦=¦日A¦\u00A0 ¦<¦sentinel¦:¦12¦>¦IMGIMGABZ¦ e¦\u0301¦,¦ "
     "¦$¦5¦.¦00¦ ¦¿¦Қазақ¦?¦ ¦—¦   "},
    {"deepseek-llm",
     "Hello¦ I¦'¦LL¦ ¦ don¦'¦t¦ it¦'¦ſ¦ ¦1234567¦ ¦½¦ ¦नमस्ते¦ ¦日本語々ひらカナ¦ camelCaseHTTPs¦ "
     "/¦usr¦/¦bin¦\r¦\n¦\n¦ ¦ x¦!!¦\n¦ \t¦\t=¦日¦A¦\u00A0¦ <¦sentinel¦:¦12¦>¦IMGIMGABZ¦ "
     "e¦\u0301¦,¦ $¦5¦.¦00¦ ¿¦Қазақ¦?¦ ¦—¦   "},
    {"deepseek-coder",
     "Hello¦ I¦'¦LL¦ ¦ don¦'¦t¦ it¦'¦ſ¦ ¦1¦2¦3¦4¦5¦6¦7¦ ¦½¦ ¦नमस¦्¦त¦े¦ ¦日本語々ひらカナ¦ "
     "camelCaseHTTPs¦ /¦usr¦/¦bin¦\r¦\n¦\n¦ ¦ x¦!!¦\n¦ \t\t=¦日¦A¦\u00A0 "
     "<¦sentinel¦:¦1¦2¦>¦IMGIMGABZ¦ e¦\u0301¦,¦ $¦5¦.¦0¦0¦ ¿¦Қазақ¦?¦ ¦—¦   "},
    {"deepseek-v3",
     "Hello¦ I¦'LL¦ ¦ don¦'t¦ it¦'¦ſ¦ ¦123¦456¦7¦ ¦½¦ नमस्ते¦ ¦日本語¦々¦ひらカナ¦ camelCaseHTTPs¦ "
     "/¦usr¦/bin¦\r\n\n¦ ¦ x¦!!\n¦ \t¦\t¦=¦日¦A¦\u00A0¦ <¦sentinel¦:¦12¦>IMGIMGABZ¦ e\u0301¦,¦ "
     "$¦5¦.¦00¦ ¿¦Қазақ¦?¦ —¦   "},
};

std::string words_of(const PreTokenizer& splitter, std::string_view text) {
  std::string joined;
  std::vector<Word> words;
  for (size_t at = 0; splitter.next_words(text, at, words);) {
    for (const Word& word : words) {
      if (!joined.empty()) joined += "¦";
      joined += text.substr(word.begin, word.end - word.begin);
    }
  }
  return joined;
}

TEST(Schemes, WordsOfEveryPatternList) {
  for (const SchemeGolden& golden : kGoldens) {
    const auto splitter = PreTokenizer::find(golden.scheme);
    ASSERT_TRUE(splitter) << splitter.error().message();
    EXPECT_EQ(words_of(*splitter, kText), golden.words) << golden.scheme;
  }
}

TEST(Schemes, EveryNameHasAGolden) {
  for (const std::string_view name : scheme_names()) {
    const std::vector<std::string> patterns(scheme_patterns(name).begin(),
                                            scheme_patterns(name).end());
    ASSERT_TRUE(PreTokenizer::find(name)) << name;
    const auto first = find_scheme(patterns);
    ASSERT_TRUE(first) << name;
    const bool known =
        std::any_of(std::begin(kGoldens), std::end(kGoldens),
                    [&](const SchemeGolden& golden) { return golden.scheme == *first; });
    EXPECT_TRUE(known) << name;
  }
}

TEST(Schemes, NamesAreFoundByTheirPatterns) {
  EXPECT_TRUE(scheme_patterns("no-such").empty());
  EXPECT_EQ(scheme_patterns("starcoder").size(), 2U);
  const std::vector<std::string> falcon{std::string(patterns::kPunctuation),
                                        std::string(patterns::kGpt2),
                                        std::string(patterns::kDigits), "[0-9][0-9][0-9]"};
  EXPECT_EQ(find_scheme(falcon), "falcon");
}

TEST(Schemes, PunctuationIsThatOfUnicode8) {
  const std::span<const CodePointRange> ranges = kPublishedPunctuation;
  for (size_t i = 1; i < ranges.size(); ++i) EXPECT_LT(ranges[i - 1].last, ranges[i].first);
  const auto scanner = RegexScanner::create(patterns::kPunctuationSign);
  ASSERT_TRUE(scanner);
  const CodePointSet wanted({ranges.begin(), ranges.end()});
  for (uint32_t c = 0; c <= kLastCodePoint; ++c) {
    if (c >= 0xD800 && c < 0xE000) continue;
    std::string text;
    append_utf8(text, c);
    const std::optional<Word> match = scanner->find(text, 0);
    ASSERT_EQ(match.has_value(), wanted.contains(c)) << c;
    ASSERT_TRUE(!match || match->end == text.size()) << c;
  }
  // U+2E42 is of Unicode 7, U+0C84 of 11: newer signs stay with the word.
  for (const char* scheme : {"falcon", "chameleon"}) {
    const auto splitter = PreTokenizer::find(scheme);
    ASSERT_TRUE(splitter) << splitter.error().message();
    EXPECT_EQ(words_of(*splitter, "a \u2E42 \u0C84$"), "a¦ ¦\u2E42¦ \u0C84¦$") << scheme;
  }
}

}  // namespace
}  // namespace ruv::schemes_test
