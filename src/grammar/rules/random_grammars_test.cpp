// Random grammars, written down in both syntaxes and read back, against what they mean.
#include <gtest/gtest.h>

#include "grammar/rules/gbnf.h"
#include "grammar/rules/lark.h"
#include "grammar/rules/test_grammar_cases.h"
#include "grammar/rules/test_random_grammars.h"

namespace ruv {
namespace {

void expect_meaning(const GrammarReader& read, const std::string& text, const TextSet& meaning) {
  Languages languages(1 << 18);
  Result<RuleSet> rules = read(languages, text);
  ASSERT_TRUE(rules) << rules.error().message() << "\n" << text;
  TwoGrammars grammar(languages, std::move(*rules));
  TextSet begins;  // of accepted texts
  for (size_t i = kTexts; i-- > 0;) {
    const std::string& one = all_texts()[i];
    ASSERT_EQ(grammar.accepts(one), meaning[i]) << '"' << one << "\"\n" << text;
    if (!meaning[i] && !begins[i]) continue;
    begins.set(i);
    if (i > 0) begins.set((i - 1) / 2);
    ASSERT_TRUE(one.size() > 3 || grammar.can_continue(one)) << one << "\n" << text;
  }
}

TEST(RandomGrammars, GbnfMeansWhatTheTreeMeans) {
  size_t n_accepted = 0;
  for (unsigned seed = 0; seed < 100; ++seed) {
    RandomGrammar grammar(seed, false);
    const TextSet meaning = grammar.meaning();
    n_accepted += meaning.count();
    expect_meaning([](Languages& l, std::string_view text) { return read_gbnf(l, text, {}); },
                   grammar.gbnf(), meaning);
    if (HasFatalFailure()) return;
  }
  EXPECT_GT(n_accepted, 100 * 3u);  // grammars that say something
}

TEST(RandomGrammars, LarkMeansWhatTheTreeMeans) {
  size_t n_accepted = 0;
  for (unsigned seed = 1000; seed < 1100; ++seed) {
    RandomGrammar grammar(seed, true);
    const TextSet meaning = grammar.meaning();
    n_accepted += meaning.count();
    expect_meaning([](Languages& l, std::string_view text) { return read_lark(l, text, {}); },
                   grammar.lark(), meaning);
    if (HasFatalFailure()) return;
  }
  EXPECT_GT(n_accepted, 100 * 3u);
}

}  // namespace
}  // namespace ruv
