// Cases of grammars in files of tests/cases/grammar: a list of {name, grammar, accept, reject} and
// {name, grammar, error}. And two forms of one grammar that must agree.
#pragma once

#include <gtest/gtest.h>

#include <fstream>
#include <functional>
#include <sstream>

#include "grammar/rules/fold_languages.h"
#include "grammar/rules/test_recogniser.h"
#include "grammar/rules/token_terminal.h"

namespace ruv {

// A grammar before and after folding; both must always agree.
class TwoGrammars {
 public:
  TwoGrammars(Languages& languages, RuleSet read, Language value = Language::nothing)
      : plain_rules_(std::move(read)),
        folded_rules_(plain_rules_),
        plain_(languages, plain_rules_, value),
        folded_(languages, (fold_languages(languages, folded_rules_), folded_rules_), value) {}

  bool accepts(std::string_view text) {
    const bool accepted = folded_.accepts(text);
    EXPECT_EQ(plain_.accepts(text), accepted) << text;
    const std::string_view half = text.substr(0, text.size() / 2);
    EXPECT_TRUE(!accepted || folded_.can_continue(half)) << text;
    return accepted;
  }
  bool can_continue(std::string_view text) {
    const bool open = folded_.can_continue(text);
    EXPECT_EQ(plain_.can_continue(text), open) << text;
    return open;
  }
  const RuleSet& folded() const { return folded_rules_; }

 private:
  RuleSet plain_rules_;
  RuleSet folded_rules_;
  TestRecogniser plain_;
  TestRecogniser folded_;
};

inline std::string file_text(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

// A vocabulary of 100 tokens, of which a few are control tokens.
inline GrammarTokens test_grammar_tokens() {
  return {[](std::string_view text) -> std::optional<Token> {
            if (text == "<think>") return 90;
            if (text == "</think>") return 91;
            if (text == "<|end|>") return 92;
            return std::nullopt;
          },
          100};
}

using GrammarReader = std::function<Result<RuleSet>(Languages&, std::string_view)>;

inline void run_grammar_cases(const std::string& name, const GrammarReader& read) {
  const std::string path = RUV_SOURCE_DIR "/tests/cases/grammar/" + name;
  const Result<Json> cases = parse_json(file_text(path), path);
  ASSERT_TRUE(cases) << cases.error().message();
  ASSERT_GT(cases->size(), 20u);
  for (const Json& one : *cases) {
    SCOPED_TRACE(one.at("name").text());
    Languages languages(1 << 20);
    Result<RuleSet> rules = read(languages, one.at("grammar").text());
    if (const Json* error = one.find("error")) {
      const std::string message = rules ? "no error" : rules.error().message();
      EXPECT_TRUE(message.ends_with(error->text())) << message;
      continue;
    }
    ASSERT_TRUE(rules) << rules.error().message();
    TwoGrammars grammar(languages, std::move(*rules), languages.text("{}"));
    for (const Json& text : one.at("accept")) EXPECT_TRUE(grammar.accepts(text.text())) << text;
    for (const Json& text : one.at("reject")) EXPECT_FALSE(grammar.accepts(text.text())) << text;
  }
}

}  // namespace ruv
