// Schemas beside a reference implementation: tests/oracle/make_schema_cases.py drew the cases.
#include <gtest/gtest.h>

#include <fstream>

#include "base/rng.h"
#include "grammar/form/form.h"
#include "text/test_vocabularies.h"

namespace ruv {
namespace {

class SchemaCases : public testing::Test {
 protected:
  SchemaCases() {
    TokenizerSpec spec = byte_test_spec({});
    for (const std::string_view piece :
         {"{\"", "\": ", "\", \"", "\"}", "]]", "}}", "a\"", "\"a", "ab", "true", "false", "null",
          "12", ", ", "[[", "[]", "{}", "0.5"}) {
      add_test_token(spec, to_byte_alphabet(piece), TokenKind::normal);
    }
    tokenizer_ = test_tokenizer(spec);
    prefixes_ = std::make_shared<TokenPrefixes>(*tokenizer_);
    renew();
  }
  void renew() { space_ = std::make_shared<FormSpace>(prefixes_, tokenizer_->vocab_size()); }

  std::shared_ptr<const Tokenizer> tokenizer_;
  std::shared_ptr<TokenPrefixes> prefixes_;
  std::shared_ptr<FormSpace> space_;
};

TEST_F(SchemaCases, AreJudgedAsByTheReference) {
  std::ifstream in(RUV_SOURCE_DIR "/tests/cases/grammar/schemas.jsonl");
  size_t n = 0;
  for (std::string text; std::getline(in, text);) {
    const auto line = parse_json(text, "schemas.jsonl");
    ASSERT_TRUE(line);
    const auto form = Form::of_schema(space_, Json(line->at("schema")), {});
    ASSERT_TRUE(form) << text << form.error().message();
    const Lock guard(space_->mutex());
    for (const char* side : {"valid", "invalid"}) {
      for (const Json& document : line->at(side)) {
        FormReader reader = (*form)->reader();
        const bool accepted = reader.accept(document.text()) && reader.may_end();
        ASSERT_EQ(accepted, std::string_view(side) == "valid") << text << "\n" << document.text();
        ++n;
      }
    }
  }
  EXPECT_GT(n, 10'000U);
}

// At each step of random walks, the mask is what tokens tried one by one say, and is never empty
// before the end; what is written is JSON.
TEST_F(SchemaCases, WalksMeetNoDeadEnd) {
  std::ifstream in(RUV_SOURCE_DIR "/tests/cases/grammar/schemas.jsonl");
  Rng rng(5);
  size_t n_done = 0;
  for (std::string text; std::getline(in, text);) {
    const auto line = parse_json(text, "schemas.jsonl");
    const auto form = Form::of_schema(space_, Json(line->at("schema")), {});
    ASSERT_TRUE(form);
    const Lock guard(space_->mutex());
    FormReader reader = (*form)->reader();
    std::string written;
    for (int step = 0; step < 30 && !reader.only_ends(); ++step) {
      if (step > 12 && reader.may_end()) break;
      TokenMask mask(tokenizer_->vocab_size());
      reader.allow(mask);
      std::vector<Token> allowed;
      for (Token id = 0; id < tokenizer_->vocab_size(); ++id) {
        const std::string_view bytes = prefixes_->bytes(id);
        if (bytes.empty()) continue;
        ASSERT_EQ(mask.has(id), reader.allows(bytes)) << text << "\n" << written << "|" << bytes;
        if (mask.has(id)) allowed.push_back(id);
      }
      ASSERT_TRUE(!allowed.empty() || reader.may_end()) << text << "\n" << written;
      if (allowed.empty()) break;
      const std::string_view bytes = prefixes_->bytes(allowed[rng.below(allowed.size())]);
      written += bytes;
      ASSERT_TRUE(reader.accept(bytes)) << text << "\n" << written;
    }
    if (!reader.may_end()) continue;
    ASSERT_TRUE(parse_json(written, "written")) << text << "\n" << written;
    ++n_done;
  }
  EXPECT_GT(n_done, 100U);
}

}  // namespace
}  // namespace ruv
