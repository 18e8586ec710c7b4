#include "grammar/rules/gbnf.h"

#include <gtest/gtest.h>

#include "grammar/rules/test_grammar_cases.h"

namespace ruv {
namespace {

Result<RuleSet> read_test_gbnf(Languages& languages, std::string_view text) {
  static const GrammarTokens tokens = test_grammar_tokens();
  return read_gbnf(languages, text, tokens);
}

TEST(Gbnf, MeansWhatTheCasesSay) { run_grammar_cases("gbnf.json", read_test_gbnf); }

TEST(Gbnf, TokensAreSetsOfIds) {
  Languages languages(1 << 16);
  const Result<RuleSet> rules = read_test_gbnf(
      languages, "root ::= <think> !</think>* <[91]> \"a\" !<[90]> <[^5,1-3]> <[7-9,1,8-12]>");
  ASSERT_TRUE(rules) << rules.error().message();
  ASSERT_EQ(rules->token_sets.size(), 6u);
  EXPECT_EQ(rules->token_sets[0].ranges[0].first, 90);
  EXPECT_FALSE(rules->token_sets[0].complement);
  EXPECT_EQ(rules->token_sets[1].ranges[0].last, 91);
  EXPECT_TRUE(rules->token_sets[1].complement);
  EXPECT_TRUE(rules->token_sets[4].complement);
  ASSERT_EQ(rules->token_sets[5].ranges.size(), 2u);
  EXPECT_EQ(rules->token_sets[5].ranges[1].first, 7);
  EXPECT_EQ(rules->token_sets[5].ranges[1].last, 12);
  TestRecogniser recogniser(languages, *rules);
  const auto t = TestRecogniser::of_token;
  EXPECT_TRUE(recogniser.accepts({t(90), t(3), t(91), 'a', t(3), t(4), t(8)}));
  EXPECT_TRUE(recogniser.accepts({t(90), t(91), 'a', t(3), t(4), t(12)}));
  EXPECT_FALSE(recogniser.accepts({t(90), t(91), 'a', t(90), t(4), t(8)}));
  EXPECT_FALSE(recogniser.accepts({t(90), t(91), 'a', t(3), t(2), t(8)}));
  EXPECT_FALSE(recogniser.accepts({t(90), t(91), t(91), 'a', t(3), t(4), t(8)}));
}

TEST(Gbnf, PrefixesOfTextsCanContinue) {
  Languages languages(1 << 16);
  Result<RuleSet> rules = read_test_gbnf(
      languages, "root ::= \"(\" root \")\" | [0-9]{2,3} | \"x\" dead\ndead ::= \"y\" dead");
  ASSERT_TRUE(rules) << rules.error().message();
  TwoGrammars grammar(languages, std::move(*rules));
  for (const char* text : {"", "(", "((1", "(12)", "(123"}) {
    EXPECT_TRUE(grammar.can_continue(text)) << text;
  }
  for (const char* text : {")", "(1)", "x", "12)", "(1234"}) {
    EXPECT_FALSE(grammar.can_continue(text)) << text;
  }
}

std::string repeated_text(std::string_view part, size_t n) {
  std::string made;
  for (size_t i = 0; i < n; ++i) made += part;
  return made;
}

// Each is an error or is read; the time limit of the tests is what says "soon".
TEST(Gbnf, HostileOnesEndSoon) {
  const auto code_of = [](const std::string& text) {
    Languages languages(1 << 20);
    Result<RuleSet> rules = read_test_gbnf(languages, text);
    if (!rules) return rules.error().code();
    fold_languages(languages, *rules);
    EXPECT_FALSE(languages.overflowed());
    return Code::ok;
  };
  EXPECT_EQ(code_of("root ::= " + std::string(60000, '(')), Code::unsupported);
  EXPECT_EQ(code_of("root ::= " + std::string(60000, '(') + std::string(60000, ')')),
            Code::unsupported);
  EXPECT_EQ(code_of("root ::= " + std::string(200, '(') + std::string(200, ')')), Code::ok);
  EXPECT_EQ(code_of("root ::= " + repeated_text("\"a\"|", 1000000)), Code::unsupported);
  EXPECT_EQ(code_of("root ::= " + repeated_text("\"a\"|", 60000)), Code::ok);
  EXPECT_EQ(code_of("root ::= " + repeated_text(".", 250000)), Code::unsupported);
  EXPECT_EQ(code_of("root ::= \"a\"" + repeated_text("+", 201)), Code::unsupported);
  EXPECT_EQ(code_of("root ::= \"a\"" + repeated_text("*", 199)), Code::ok);
  EXPECT_EQ(code_of("root ::= \"a\"" + repeated_text("{65535}", 199)), Code::ok);
  EXPECT_EQ(code_of("root ::= " + repeated_text("[^a]?", 40000)), Code::ok);
  EXPECT_EQ(code_of("root ::= ((\"a\"+)+ \"b\")+"), Code::ok);
  EXPECT_EQ(code_of(std::string(250000, '\n') + "root"), Code::corrupt);
  EXPECT_EQ(code_of(std::string("root ::= \"a\"\0", 13)), Code::corrupt);
  EXPECT_EQ(code_of("root ::= \"\xFF\""), Code::corrupt);
  std::string different = "root ::= \"x\"";
  for (int i = 0; i < 25000; ++i) different += "|\"" + std::to_string(i) + "\"";
  EXPECT_EQ(code_of(different), Code::ok);
  std::string chain = "root ::= r0\n";
  for (int i = 0; i < 12000; ++i) {
    chain += "r" + std::to_string(i) + " ::= r" + std::to_string(i + 1) + "\n";
  }
  EXPECT_EQ(code_of(chain + "r12000 ::= \"a\"\n"), Code::ok);
  EXPECT_EQ(code_of(chain + "r12000 ::= r0\n"), Code::ok);
  EXPECT_EQ(code_of(chain), Code::not_found);
}

}  // namespace
}  // namespace ruv
