#include "grammar/rules/fold_languages.h"

#include <gtest/gtest.h>

#include "grammar/rules/gbnf.h"
#include "grammar/rules/test_grammar_cases.h"

namespace ruv {
namespace {

RuleSet folded_gbnf(Languages& languages, std::string_view text, const FoldLimits& limits = {}) {
  Result<RuleSet> rules = read_gbnf(languages, text, {});
  EXPECT_TRUE(rules) << rules.error().message();
  if (!rules) return {};
  fold_languages(languages, *rules, limits);
  return std::move(*rules);
}

const RuleNode& start_node(const RuleSet& rules) {
  return rules.nodes[rules.rules[rules.start].body];
}

TEST(FoldLanguages, RegularGrammarsBecomeOneLanguage) {
  Languages languages(1 << 16);
  const RuleSet rules = folded_gbnf(
      languages,
      "root ::= word (\", \" word){0,3} end?\nword ::= [a-z]+\nend ::= \".\" | \"!\"+\n");
  const RuleNode& start = start_node(rules);
  ASSERT_EQ(start.kind, RuleKind::language);
  EXPECT_TRUE(languages.has_empty(languages.after(start.language, "ab, c!!")));
  EXPECT_FALSE(languages.has_empty(languages.after(start.language, "ab, c!.")));
}

TEST(FoldLanguages, WhatIsAroundARecursionBecomesLanguages) {
  Languages languages(1 << 16);
  const RuleSet rules = folded_gbnf(
      languages, "root ::= \"(\" ws root ws \")\" ws | \"a\" | \"b\" ws\nws ::= \" \"*");
  const RuleNode& start = start_node(rules);
  ASSERT_EQ(start.kind, RuleKind::choice);
  ASSERT_EQ(start.children.size(), 2u);
  const RuleNode& pair = rules.nodes[start.children[0]];
  const RuleNode& inner = rules.nodes[start.children[1]];
  const RuleNode& sequence = pair.kind == RuleKind::sequence ? pair : inner;
  ASSERT_EQ(sequence.children.size(), 3u);
  EXPECT_EQ(rules.nodes[sequence.children[0]].kind, RuleKind::language);
  EXPECT_EQ(rules.nodes[sequence.children[1]].kind, RuleKind::rule);
  EXPECT_EQ(rules.nodes[sequence.children[2]].kind, RuleKind::language);
}

TEST(FoldLanguages, EmptySequencesAndChoicesAreLanguages) {
  Languages languages(1 << 16);
  RuleSet rules = {.nodes = {{.kind = RuleKind::sequence}, {.kind = RuleKind::choice}},
                   .rules = {{"a", 0}, {"b", 1}},
                   .start = 0,
                   .token_sets = {},
                   .schemas = {}};
  fold_languages(languages, rules);
  EXPECT_EQ(rules.nodes[0].language, Language::empty);
  EXPECT_EQ(rules.nodes[1].kind, RuleKind::language);
  EXPECT_EQ(rules.nodes[1].language, Language::nothing);
}

TEST(FoldLanguages, LimitsLeaveTheRestAsItIs) {
  const std::string text =
      "root ::= (\"abc\" [0-9]){2} \"x\"* \"y\"* \"z\"* (\"def\" | \"ghi\" | \"jkl\")\n";
  const std::vector<std::string> accepted = {"abc1abc2def", "abc1abc2xxzjkl", "abc1abc2ghi"};
  for (const uint32_t size : {1u, 3u, 8u, 20u, 1000u}) {
    for (const uint32_t height : {1u, 2u, 3u, 5u, 60u}) {
      for (const uint32_t total : {0u, 10u, 30u, 100000u}) {
        Languages languages(1 << 16);
        const RuleSet rules = folded_gbnf(
            languages, text, {.language = {.size = size, .height = height}, .total_size = total});
        TestRecogniser recogniser(languages, rules);
        for (const std::string& one : accepted) {
          EXPECT_TRUE(recogniser.accepts(one)) << size << ' ' << height << ' ' << total;
          EXPECT_FALSE(recogniser.accepts(one + "x"));
          EXPECT_FALSE(recogniser.accepts(one.substr(0, one.size() - 1)));
        }
      }
    }
  }
}

TEST(FoldLanguages, TheTotalSizeIsALimit) {
  const char* const text = "root ::= \"abc\" [0-9] | \"x\"*\n";
  for (const uint32_t total : {0u, 10u, 1000u}) {
    Languages languages(1 << 16);
    const RuleSet rules = folded_gbnf(languages, text, {.total_size = total});
    EXPECT_EQ(start_node(rules).kind, total < 1000 ? RuleKind::choice : RuleKind::language);
  }
}

TEST(FoldLanguages, LongChainsTakeNoStack) {
  constexpr uint32_t kRules = 50000;
  Languages languages(1 << 20);
  RuleSet rules;
  for (uint32_t i = 0; i < kRules; ++i) {
    rules.nodes.push_back({.kind = RuleKind::rule, .index = i + 1});
    rules.rules.push_back({"r", i});
  }
  rules.rules.push_back({"end", kRules});
  rules.nodes.push_back({.kind = RuleKind::language, .language = languages.text("a")});
  RuleSet recursive = rules;
  fold_languages(languages, rules);
  EXPECT_EQ(rules.nodes[0].kind, RuleKind::language);
  recursive.rules.back().body = 0;
  fold_languages(languages, recursive);
  EXPECT_EQ(recursive.nodes[0].kind, RuleKind::rule);
}

// Each rule appends to what the next one is: languages would grow with the chain.
TEST(FoldLanguages, ChainsThatGrowStayWithinTheLimits) {
  for (const char* form : {"r%d ::= r%d \"%d\"\n", "r%d ::= \"%3$d\" r%2$d\n",
                           "r%d ::= r%d? [%d]\n", "r%d ::= \"%3$d\" | r%2$d\n"}) {
    std::string text = "root ::= r0\n";
    for (int i = 0; i < 5000; ++i) {
      char line[100];
      std::snprintf(line, sizeof line, form, i, i + 1, i);
      text += line;
    }
    Languages languages(1 << 20);
    folded_gbnf(languages, text + "r5000 ::= \"end\"\n");
    EXPECT_FALSE(languages.overflowed()) << form;
    EXPECT_LT(languages.size(), 600000u);
  }
}

}  // namespace
}  // namespace ruv
