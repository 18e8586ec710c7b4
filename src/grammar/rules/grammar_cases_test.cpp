// Grammars of other projects' tests, with the texts that they accept and reject. A case that we
// cannot read or that disagrees is listed with its reason. Skipped where the data is absent.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "grammar/regex/pattern_language.h"
#include "grammar/rules/gbnf.h"
#include "grammar/rules/lark.h"
#include "grammar/rules/test_grammar_cases.h"

namespace ruv {
namespace {

std::string grammar_data(std::string_view name) {
  const char* folder = std::getenv("RUV_DATA_DIR");
  const std::string root =
      folder != nullptr ? std::string(folder) : std::string(RUV_SOURCE_DIR "/../shared/data");
  return root + "/grammars/" + std::string(name);
}

#define GRAMMAR_DATA_OR_SKIP(name)                       \
  ({                                                     \
    const std::string path = grammar_data(name);         \
    if (!std::filesystem::exists(path)) {                \
      GTEST_SKIP() << "no test data: grammars/" << name; \
    }                                                    \
    path;                                                \
  })

// How many texts of the cases of a file were tried.
int try_accept_and_reject(const std::string& path, const GrammarReader& read) {
  const Result<Json> cases = parse_json(file_text(path), path);
  EXPECT_TRUE(cases);
  if (!cases) return 0;
  int n_texts = 0;
  for (const Json& one : *cases) {
    SCOPED_TRACE(one.at("description").text());
    Languages languages(1 << 20);
    Result<RuleSet> rules = read(languages, one.at("grammar").text());
    EXPECT_TRUE(rules) << rules.error().message();
    if (!rules) continue;
    TwoGrammars grammar(languages, std::move(*rules));
    for (const Json& text : one.at("pass")) EXPECT_TRUE(grammar.accepts(text.text())) << text;
    for (const Json& text : one.at("fail")) EXPECT_FALSE(grammar.accepts(text.text())) << text;
    n_texts += static_cast<int>(one.at("pass").size() + one.at("fail").size());
  }
  return n_texts;
}

TEST(GrammarCases, AcceptAndRejectAsLlamaCppDoes) {
  const std::string path = GRAMMAR_DATA_OR_SKIP("llamacpp_gbnf_accept_reject.json");
  EXPECT_EQ(try_accept_and_reject(
                path, [](Languages& l, std::string_view text) { return read_gbnf(l, text, {}); }),
            98);
}

TEST(GrammarCases, AcceptAndRejectAsLlguidanceDoes) {
  const std::string path = GRAMMAR_DATA_OR_SKIP("llguidance_lark_accept_reject.json");
  EXPECT_EQ(try_accept_and_reject(
                path, [](Languages& l, std::string_view text) { return read_lark(l, text, {}); }),
            55);
}

TEST(GrammarCases, ReadTheGrammarsOfLark) {
  const std::string folder = GRAMMAR_DATA_OR_SKIP("lark");
  int n_files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    Languages languages(1 << 20);
    Result<RuleSet> rules = read_lark(languages, file_text(entry.path()), {});
    ASSERT_TRUE(rules) << entry.path() << rules.error().message();
    if (entry.path().filename() == "lark.lark") {  // Lark's grammar describes itself
      // But for the end of its comments' lines, which it has as _NL.
      TwoGrammars grammar(languages, std::move(*rules));
      EXPECT_TRUE(grammar.accepts("a: \"b\" | c -> d\n\n// x\nC.1: /[^\\/]+/i\n%ignore C\n"));
      EXPECT_FALSE(grammar.accepts("a: (\"b\"\n"));
    }
    ++n_files;
  }
  EXPECT_EQ(n_files, 2);
}

TEST(GrammarCases, ReadWhatLlamaCppReads) {
  const std::string path = GRAMMAR_DATA_OR_SKIP("llamacpp_gbnf_parse_valid_invalid.json");
  const Result<Json> cases = parse_json(file_text(path), path);
  ASSERT_TRUE(cases);
  // Refused there since copies of rules would be too many. Counts are numbers here.
  const std::vector<std::string_view> listed = {"[^x]*){0,99}", "\"a\"{5000,}"};
  for (const Json& one : *cases) {
    const std::string_view text = one.at("grammar").text();
    const bool is_listed = std::ranges::any_of(
        listed, [&](std::string_view part) { return text.find(part) != text.npos; });
    Languages languages(1 << 20);
    const Result<RuleSet> rules = read_gbnf(languages, text, {});
    EXPECT_EQ(rules.has_value(), one.at("valid").get<bool>() || is_listed) << text;
  }
}

TEST(GrammarCases, ReadTheGrammarsOfLlamaCpp) {
  const std::string folder = GRAMMAR_DATA_OR_SKIP("gbnf");
  int n_files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    Languages languages(1 << 20);
    const Result<RuleSet> rules = read_gbnf(languages, file_text(entry.path()), {});
    EXPECT_TRUE(rules) << entry.path() << (rules ? "" : rules.error().message());
    ++n_files;
  }
  EXPECT_GE(n_files, 5);
}

bool matches_pattern(std::string_view pattern, std::string_view text) {
  Languages languages(1 << 20);
  const Result<Pattern> read = read_pattern(pattern, {.syntax = PatternSyntax::re2});
  EXPECT_TRUE(read) << pattern;
  if (!read) return false;
  const Result<Language> made = language_of(languages, *read, Utf8Alphabet(), PatternMatch::whole);
  EXPECT_TRUE(made) << pattern;
  return made && languages.has_empty(languages.after(*made, text));
}

TEST(GrammarCases, AcceptAndRejectAsXgrammarDoes) {
  const std::string path = GRAMMAR_DATA_OR_SKIP("xgrammar_ebnf_regex_accept.json");
  const Result<Json> cases = parse_json(file_text(path), path);
  ASSERT_TRUE(cases);
  int n_cases = 0;
  for (const Json& one : *cases) {
    const std::string_view grammar = one.at("grammar").text();
    const std::string_view input = one.at("input").text();
    const bool accepted = one.at("accepted").get<bool>();
    if (one.at("kind").text() == "regex") {
      EXPECT_EQ(matches_pattern(grammar, input), accepted) << grammar << ": " << input;
    } else {
      const bool is_custom = one.at("test").text() == "test_custom_root_rule";
      Languages languages(1 << 20);
      Result<RuleSet> rules =
          read_gbnf(languages, grammar, {}, is_custom ? "basic_string" : "root");
      ASSERT_TRUE(rules) << rules.error().message();
      EXPECT_EQ(TwoGrammars(languages, std::move(*rules)).accepts(input), accepted)
          << grammar << ": " << input;
    }
    ++n_cases;
  }
  EXPECT_GE(n_cases, 106);
}

}  // namespace
}  // namespace ruv
