#include "grammar/regex/pattern.h"

#include <gtest/gtest.h>

#include <fstream>

#include "base/json.h"
#include "grammar/regex/pattern_language.h"

namespace ruv {
namespace {

// Which texts a pattern matches.
class Matcher {
 public:
  explicit Matcher(std::string_view text, PatternOptions options = {},
                   PatternMatch match = PatternMatch::anywhere) {
    const Result<Pattern> pattern = read_pattern(text, options);
    if (!pattern) {
      status = pattern.error();
      return;
    }
    const Result<Language> made = language_of(languages, *pattern, Utf8Alphabet(), match);
    made ? void(language = *made) : void(status = made.error());
  }
  bool matches(std::string_view text) {
    return languages.has_empty(languages.after(language, text));
  }

  Languages languages{1 << 20};
  Language language = Language::nothing;
  Status status;
};

constexpr PatternOptions kRe2 = {.syntax = PatternSyntax::re2};

TEST(Pattern, MatchesWhatEcmaScriptMatches) {
  std::ifstream file(RUV_SOURCE_DIR "/tests/cases/grammar/patterns.jsonl");
  ASSERT_TRUE(file);
  int n_patterns = 0;
  int n_refused = 0;
  for (std::string line; std::getline(file, line); ++n_patterns) {
    const Result<Json> read = parse_json(line, "patterns.jsonl");
    ASSERT_TRUE(read) << line;
    const std::string_view pattern = read->at("pattern").text();
    Matcher matcher(pattern);
    if (matcher.status.code() == Code::unsupported) {
      ++n_refused;
      continue;
    }
    ASSERT_TRUE(matcher.status.ok()) << matcher.status.message();
    for (const Json& text : read->at("match")) {
      EXPECT_TRUE(matcher.matches(text.text())) << pattern << " in \"" << text.text() << '"';
    }
    for (const Json& text : read->at("no_match")) {
      EXPECT_FALSE(matcher.matches(text.text())) << pattern << " in \"" << text.text() << '"';
    }
  }
  EXPECT_EQ(n_patterns, 600);
  EXPECT_LT(n_refused, 30);  // loops whose rounds may be empty
}

TEST(Pattern, LookaheadLimitsTheRest) {
  Matcher password("^(?=.*[A-Z])(?=.*\\d)(?!.*\\s).{4,8}$");
  ASSERT_TRUE(password.status.ok());
  EXPECT_TRUE(password.matches("aB3d"));
  EXPECT_FALSE(password.matches("ab3d"));
  EXPECT_FALSE(password.matches("aB3"));
  EXPECT_FALSE(password.matches("aB 3d"));
  EXPECT_FALSE(password.matches("aB3456789"));
}

TEST(Pattern, LoopsMayContainLookahead) {
  Matcher tempered("^((?!ab).)+$");
  ASSERT_TRUE(tempered.status.ok()) << tempered.status.message();
  EXPECT_TRUE(tempered.matches("acb aa"));
  EXPECT_FALSE(tempered.matches("acb abx"));
  EXPECT_FALSE(tempered.matches("ab"));
  EXPECT_FALSE(tempered.matches(""));
  Matcher words("^(\\b[a-z]+\\b[ .]?)*$");
  ASSERT_TRUE(words.status.ok()) << words.status.message();
  EXPECT_TRUE(words.matches("ab cd.e"));
  EXPECT_FALSE(words.matches("ab  cd"));
}

TEST(Pattern, Re2HasItsOwnSyntax) {
  Matcher m("(?i)a[[:digit:]]+\\x{E9}\\z", kRe2, PatternMatch::whole);
  ASSERT_TRUE(m.status.ok()) << m.status.message();
  EXPECT_TRUE(m.matches("A12é"));
  EXPECT_TRUE(m.matches("a1é"));
  EXPECT_FALSE(m.matches("aé"));
  Matcher lines("(?m:^b$)", kRe2);
  EXPECT_TRUE(lines.matches("a\nb\nc"));
  EXPECT_TRUE(lines.matches("b"));
  EXPECT_FALSE(lines.matches("a\nbc"));
  Matcher scoped("(?s:.)(?:.)", kRe2, PatternMatch::whole);
  EXPECT_TRUE(scoped.matches("\na"));
  EXPECT_FALSE(scoped.matches("a\n"));
}

TEST(Pattern, OperatorsAreBothAndNot) {
  const PatternOptions options = {.operators = true};
  Matcher m("[a-z]*&~(.*foo.*)&.{3,5}", options, PatternMatch::whole);
  ASSERT_TRUE(m.status.ok()) << m.status.message();
  EXPECT_TRUE(m.matches("abcd"));
  EXPECT_FALSE(m.matches("afoo"));
  EXPECT_FALSE(m.matches("ab"));
  EXPECT_FALSE(m.matches("abC"));
}

TEST(Pattern, BrokenOnesAreErrorsWithTheByte) {
  for (const char* pattern : {"(", ")", "[a", "a**", "*", "\\", "[b-a]", "a{2,1}", "\\xZ1", "(?<n",
                              "\\a", "\\u{110000}", "\\p{", "\xFF", "a++"}) {
    Matcher m(pattern);
    EXPECT_EQ(m.status.code(), Code::corrupt) << pattern;
    EXPECT_NE(m.status.message().find("byte"), std::string::npos) << m.status.message();
  }
  for (const char* pattern :
       {"(a)\\1", "(?<=a)b", "(?<!a)b", "(?>a)", "\\p{Nonsense}", "(^|a)*b", "(\\ba){40}"}) {
    EXPECT_EQ(Matcher(pattern).status.code(), Code::unsupported) << pattern;
  }
}

TEST(Pattern, HostileOnesAreRefusedSoon) {
  EXPECT_EQ(Matcher(std::string(60000, '(')).status.code(), Code::unsupported);
  EXPECT_FALSE(Matcher(std::string(60000, '~') + "a", {.operators = true}).status.ok());
  Matcher twice("^(a+)+b$");
  ASSERT_TRUE(twice.status.ok());
  EXPECT_FALSE(twice.matches(std::string(20000, 'a')));
  EXPECT_TRUE(twice.matches(std::string(20000, 'a') + "b"));
  std::string many = "x";
  for (int i = 0; i < 100000; ++i) many += "|x" + std::to_string(i);
  EXPECT_EQ(Matcher(many).status.code(), Code::unsupported);
  EXPECT_TRUE(Matcher(many.substr(0, 60000)).status.ok());
  std::string nested = "^";  // rounds multiply, and make no new expressions
  for (int i = 0; i < 40; ++i) nested = "(" + nested + "){32}";
  EXPECT_EQ(Matcher(nested).status.code(), Code::unsupported);
  // Each loop is what may follow the one in it.
  std::string endless = "x(?!y)";
  for (int i = 0; i < 30; ++i) endless = "(" + endless + "(?:a?b?c?d?e?){20}x)*";
  EXPECT_EQ(Matcher(endless).status.code(), Code::unsupported);
  Matcher three("^(a(b(c(?!d))*)*)*d?$");
  ASSERT_TRUE(three.status.ok()) << three.status.message();
  EXPECT_TRUE(three.matches("abccabbcbd"));
  EXPECT_FALSE(three.matches("abcd"));
  Matcher after("^(a(?!b))*(b(?!c))*(c(?!a))*$");  // one loop after another
  ASSERT_TRUE(after.status.ok()) << after.status.message();
  EXPECT_FALSE(after.matches("ab"));
  EXPECT_TRUE(after.matches("ccc"));
}

}  // namespace
}  // namespace ruv
