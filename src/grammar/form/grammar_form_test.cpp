// Grammars read token by token: what the recorded cases accept, and masks beside tokens tried one
// by one.
#include <gtest/gtest.h>

#include "base/file.h"
#include "base/rng.h"
#include "grammar/form/form.h"
#include "grammar/rules/test_grammar_cases.h"
#include "text/test_vocabularies.h"

namespace ruv {
namespace {

class GrammarForm : public testing::TestWithParam<std::pair<std::string, Form::Syntax>> {
 protected:
  GrammarForm() {
    TokenizerSpec spec = byte_test_spec({});
    for (const std::string_view piece : {"ab", "ba", "aa", "1+", "+1", "12", " a", "a ", "if", "(a",
                                         "a)", "\": ", "true", "é", "abc", "  ", "\n"}) {
      if (piece.size() > 1) add_test_token(spec, to_byte_alphabet(piece), TokenKind::normal);
    }
    tokenizer_ = test_tokenizer(spec);
    prefixes_ = std::make_shared<TokenPrefixes>(*tokenizer_);
    space_ = std::make_shared<FormSpace>(prefixes_, tokenizer_->vocab_size());
  }

  Form::Made read(const std::string& grammar) {
    return Form::of_grammar(space_, GetParam().second, grammar, test_grammar_tokens(), {});
  }
  bool accepts(const Form& form, std::string_view text) {
    const Lock guard(space_->mutex());
    FormReader reader = form.reader();
    return reader.accept(text) && reader.may_end();
  }
  // Walks at random; at each step the mask must be what single tokens say.
  void walk(const Form& form, const std::string& grammar, Rng& rng) {
    const Lock guard(space_->mutex());
    FormReader reader = form.reader();
    std::string text;
    for (int step = 0; step < 12 && !reader.only_ends(); ++step) {
      TokenMask mask(tokenizer_->vocab_size());
      reader.allow(mask);
      std::vector<Token> allowed;
      for (Token id = 0; id < tokenizer_->vocab_size(); ++id) {
        const std::string_view bytes = prefixes_->bytes(id);
        if (bytes.empty()) continue;
        ASSERT_EQ(mask.has(id), reader.allows(bytes)) << grammar << "\n" << text << "|" << bytes;
        if (mask.has(id)) allowed.push_back(id);
      }
      if (allowed.empty()) break;  // only a control token may come
      const std::string_view bytes = prefixes_->bytes(allowed[rng.below(allowed.size())]);
      text += bytes;
      ASSERT_TRUE(reader.accept(bytes));
    }
  }

  std::shared_ptr<const Tokenizer> tokenizer_;
  std::shared_ptr<TokenPrefixes> prefixes_;
  std::shared_ptr<FormSpace> space_;
};

TEST_P(GrammarForm, ReadsTheRecordedCases) {
  const auto text =
      read_text_file(RUV_SOURCE_DIR "/tests/cases/grammar/" + GetParam().first + ".json");
  ASSERT_TRUE(text);
  const auto cases = parse_json(*text, GetParam().first);
  ASSERT_TRUE(cases);
  Rng rng(11);
  size_t n = 0;
  for (const Json& one : *cases) {
    const bool has_schema = one.at("grammar").text().find("%json") != std::string_view::npos;
    if (!one.contains("accept") || has_schema) continue;  // spaces of JSON are tested elsewhere
    const std::string grammar(one.at("grammar").text());
    const auto form = read(grammar);
    ASSERT_TRUE(form) << grammar << form.error().message();
    for (const Json& accepted : one.at("accept")) {
      EXPECT_TRUE(accepts(**form, accepted.text())) << grammar << "\n" << accepted.text();
      ++n;
    }
    for (const Json& rejected : one.at("reject")) {
      EXPECT_FALSE(accepts(**form, rejected.text())) << grammar << "\n" << rejected.text();
      ++n;
    }
    for (int round = 0; round < 2; ++round) walk(**form, grammar, rng);
  }
  EXPECT_GT(n, 80U);
}

INSTANTIATE_TEST_SUITE_P(Syntaxes, GrammarForm,
                         testing::Values(std::pair("gbnf", Form::Syntax::gbnf),
                                         std::pair("lark", Form::Syntax::lark)),
                         [](const auto& at) { return at.param.first; });

TEST(GrammarFormLimits, DeepGrammarsAndCirclesEnd) {
  const auto tokenizer = test_tokenizer(byte_test_spec({}));
  const auto prefixes = std::make_shared<TokenPrefixes>(*tokenizer);
  const auto space = std::make_shared<FormSpace>(prefixes, tokenizer->vocab_size());
  const auto read = [&](const std::string& text) {
    return Form::of_grammar(space, Form::Syntax::gbnf, text, test_grammar_tokens(), {});
  };
  const auto accepts = [&](const std::string& grammar, std::string_view text) {
    const auto form = read(grammar);
    EXPECT_TRUE(form) << form.error().message();
    if (!form) return false;
    const Lock guard(space->mutex());
    FormReader reader = (*form)->reader();
    return reader.accept(text) && reader.may_end();
  };
  const std::string sums = "root ::= root \"+\" root | \"(\" root \")\" | \"1\"";
  EXPECT_TRUE(accepts(sums, "1+1+(1+1)+1+1+1+1+1+1+1+1+1+1+1+1+1"));
  EXPECT_FALSE(accepts(sums, "1+(1"));
  EXPECT_TRUE(accepts("root ::= root | root root | \"a\" | \"\"", std::string(200, 'a')));
  EXPECT_TRUE(accepts("root ::= a b\na ::= b? a? \"x\"?\nb ::= a? root? \"y\"?", "xyxyx"));
  EXPECT_TRUE(
      accepts("root ::= \"(\" root \")\" | \"\"", std::string(5000, '(') + std::string(5000, ')')));
  EXPECT_FALSE(read("root ::= root \"a\""));
}

}  // namespace
}  // namespace ruv
