#include "grammar/rules/lark.h"

#include <gtest/gtest.h>

#include "grammar/rules/test_grammar_cases.h"

namespace ruv {
namespace {

Result<RuleSet> read_test_lark(Languages& languages, std::string_view text) {
  static const GrammarTokens tokens = test_grammar_tokens();
  return read_lark(languages, text, tokens);
}

TEST(Lark, MeansWhatTheCasesSay) { run_grammar_cases("lark.json", read_test_lark); }

TEST(Lark, TokensStandBetweenWhatIsIgnored) {
  Languages languages(1 << 16);
  const Result<RuleSet> rules =
      read_test_lark(languages, "%ignore \" \"\nstart: <think> \"a\"* <[^1-5,7]> <[*]> <|end|>\n");
  ASSERT_TRUE(rules) << rules.error().message();
  TestRecogniser recogniser(languages, *rules);
  const auto t = TestRecogniser::of_token;
  EXPECT_TRUE(recogniser.accepts({t(90), 'a', ' ', 'a', t(6), t(5), t(92)}));
  EXPECT_TRUE(recogniser.accepts({' ', t(90), ' ', t(6), ' ', t(91), ' ', t(92), ' '}));
  EXPECT_FALSE(recogniser.accepts({t(90), t(3), t(5), t(92)}));
  EXPECT_FALSE(recogniser.accepts({t(90), t(7), t(5), t(92)}));
  EXPECT_FALSE(recogniser.accepts({t(90), t(6), 'a', t(92)}));
}

TEST(Lark, ValuesKeepTheirSchemas) {
  Languages languages(1 << 16);
  const Result<RuleSet> rules = read_test_lark(
      languages, "start: a | %json {\"type\": \"string\"}\na: %json {\n  \"b\": [{\"}\": 1}]\n}\n");
  ASSERT_TRUE(rules) << rules.error().message();
  ASSERT_EQ(rules->schemas.size(), 2u);
  EXPECT_EQ(rules->schemas[0].dump(), "{\"type\":\"string\"}");
  EXPECT_EQ(rules->schemas[1].dump(), "{\"b\":[{\"}\":1}]}");
}

// Few letters, so that most short texts occur several times and states are split.
TEST(Lark, SubstringsOfRepeatedTextsAreExact) {
  std::string text;
  uint32_t random = 1;
  for (int i = 0; i < 60; ++i) {
    random = random * 1664525 + 1013904223;
    text += static_cast<char>('a' + (random >> 24) % 3);
  }
  Languages languages(1 << 16);
  Result<RuleSet> rules =
      read_test_lark(languages, "start: %regex {\"substring_chars\": \"" + text + "\"}");
  ASSERT_TRUE(rules) << rules.error().message();
  TestRecogniser recogniser(languages, *rules);
  for (int i = 0; i < 2000; ++i) {
    std::string part;
    for (random = random * 1664525 + 1013904223; part.size() < 1 + random % 7;) {
      part += static_cast<char>('a' + (random >> (8 + 3 * part.size())) % 3);
    }
    EXPECT_EQ(recogniser.accepts(part), text.find(part) != text.npos) << part;
  }
}

std::string repeated_part(std::string_view part, size_t n) {
  std::string made;
  for (size_t i = 0; i < n; ++i) made += part;
  return made;
}

// Each is an error or is read; the time limit of the tests is what says "soon".
TEST(Lark, HostileOnesEndSoon) {
  const auto code_of = [](const std::string& text) {
    Languages languages(1 << 20);
    Result<RuleSet> rules = read_test_lark(languages, text);
    if (!rules) return rules.error().code();
    fold_languages(languages, *rules);
    EXPECT_FALSE(languages.overflowed()) << text.substr(0, 40);
    return Code::ok;
  };
  EXPECT_EQ(code_of("start: " + std::string(60000, '(')), Code::unsupported);
  EXPECT_EQ(code_of("start: " + std::string(60000, '[')), Code::unsupported);
  EXPECT_EQ(code_of("start: " + std::string(60000, '~') + "\"a\""), Code::unsupported);
  EXPECT_EQ(code_of("start: " + repeated_part("\"a\"|", 1000000)), Code::unsupported);
  EXPECT_EQ(code_of("start: " + repeated_part("\"a\"|", 60000)), Code::ok);
  EXPECT_EQ(code_of("A: " + repeated_part("\"a\"|", 60000) + "\nstart: A"), Code::ok);
  EXPECT_EQ(code_of("A: " + repeated_part("\"a\"?", 60000) + "\nstart: A"), Code::unsupported);
  EXPECT_EQ(code_of("start: " + repeated_part("/a/", 80000)), Code::ok);
  EXPECT_EQ(code_of("start: /(a+)+b/"), Code::ok);
  EXPECT_EQ(code_of("start: /(((a{1000}){1000}){1000}){1000}/"), Code::ok);
  EXPECT_EQ(code_of("start: /" + std::string(60000, '(') + "/"), Code::unsupported);
  EXPECT_EQ(code_of("start: %json " + repeated_part("{\"a\":", 30000)), Code::corrupt);
  EXPECT_EQ(
      code_of("start: %json " + repeated_part("{\"a\":", 30000) + "1" + std::string(30000, '}')),
      Code::corrupt);
  std::string patterns = "start: /a/";
  for (int i = 0; i < 6000; ++i) patterns += "|/" + std::to_string(i) + "/";
  EXPECT_EQ(code_of(patterns), Code::unsupported);
  std::string large = "start: /a/";  // complements of large sets
  for (int i = 0; i < 4000; ++i) large += "|/" + std::to_string(i) + "\\PL/";
  EXPECT_EQ(code_of(large), Code::unsupported);
  for (const std::string name : {"r", "R"}) {
    std::string chain = "start: " + name + "0\n";
    for (int i = 0; i < 12000; ++i) {
      chain += name + std::to_string(i) + ": " + name + std::to_string(i + 1) + "\n";
    }
    EXPECT_EQ(code_of(chain + name + "12000: \"a\"\n"), Code::ok);
    EXPECT_EQ(code_of(chain + name + "12000: " + name + "0\n"),
              name == "r" ? Code::ok : Code::unsupported);
    EXPECT_EQ(code_of(chain), Code::not_found);
  }
  std::string doubled = "start: T0\n";  // each terminal is twice the next
  for (int i = 0; i < 100; ++i) {
    const std::string next = "T" + std::to_string(i + 1);
    doubled += "T" + std::to_string(i) + ": " + next + " " + next + "\n";
  }
  EXPECT_EQ(code_of(doubled + "T100: \"a\"\n"), Code::unsupported);
  EXPECT_EQ(code_of("start: %regex {\"substring_chars\": \"" + std::string(60000, 'a') + "\"}"),
            Code::ok);
  EXPECT_EQ(code_of("start: %regex {\"substring_chars\": \"" + std::string(70000, 'a') + "\"}"),
            Code::unsupported);
  EXPECT_EQ(code_of("start[stop=\"" + std::string(256, 'a') + "\"]: /(.|\\n)*/"), Code::ok);
  EXPECT_EQ(code_of("start[stop=\"" + std::string(257, 'a') + "\"]: /(.|\\n)*/"),
            Code::unsupported);
}

// Terminals as high as the limit allows: reading a text through them adds to the height, but never
// so much that languages overflow.
TEST(Lark, HighTerminalsCanBeReadThrough) {
  const std::vector<std::string> shapes = {
      "(% /a/? | \"b\" %?)* \"c\"?", "(\"a\"? %+ /b?/)+",     "(%* | \"ab\")? \"a\"",
      "(\"a\"? \"b\"? %?)~2..3",     "~% & /[abc]*/ | \"b\"", "%* & (/[ab]*/ | % \"c\")"};
  uint32_t random = 7;
  for (const std::string& shape : shapes) {
    std::string terminals = "T0: \"a\" | /[bc]/\n";
    std::string highest;
    for (int depth = 1; depth < 100; ++depth) {
      std::string body = shape;
      for (size_t at = 0; (at = body.find('%')) != body.npos;) {
        body.replace(at, 1, "T" + std::to_string(depth - 1));
      }
      terminals += "T" + std::to_string(depth) + ": " + body + "\n";
      const std::string text = terminals + "start: T" + std::to_string(depth) + "\n";
      Languages languages(1 << 16);
      if (!read_test_lark(languages, text)) {
        EXPECT_GT(depth, 8) << shape;
        break;
      }
      highest = text;
    }
    Languages languages(1 << 21);
    const Result<RuleSet> rules = read_test_lark(languages, highest);
    ASSERT_TRUE(rules) << shape;
    Language rest = rules->nodes[rules->rules[rules->start].body].language;
    for (int i = 0; i < 30 && languages.size() < 100000; ++i) {
      random = random * 1664525 + 1013904223;
      rest = languages.after(rest, static_cast<uint8_t>('a' + (random >> 16) % 3));
    }
    EXPECT_FALSE(languages.overflowed()) << shape;
  }
}

}  // namespace
}  // namespace ruv
