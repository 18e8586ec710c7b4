// Rank files by hand, the published ones against tiktoken's ids, and hostile ones.
#include "format/tiktoken_ranks.h"

#include <gtest/gtest.h>

#include "base/file.h"
#include "base/json.h"
#include "format/test_folder.h"
#include "format/tokenizer_file.h"

namespace ruv::tiktoken_ranks_test {
namespace {

std::string error(std::string_view text, std::string_view name = "qwen.tiktoken",
                  std::string_view scheme = "") {
  const auto spec = tokenizer_spec_from_ranks(text, name, scheme, "x");
  return spec ? "no error"
              : fmt::format("{} {}", code_name(spec.error().code()), spec.error().message());
}
void expect_part(const std::string& text, const std::string& part) {
  EXPECT_NE(text.find(part), std::string::npos) << text;
}

TEST(TiktokenRanks, ReadsLinesWithGaps) {
  const auto spec = tokenizer_spec_from_ranks("YQ== 0\r\nYg== 1\n\n/w== 4", "x", "gpt-2", "x");
  ASSERT_TRUE(spec) << spec.error().message();
  EXPECT_EQ(spec->tokens, (std::vector<std::string>{"a", "b", "", "", "\xFF"}));
  EXPECT_EQ(spec->kinds[2], TokenKind::unused);
  EXPECT_TRUE(spec->raw_tokens && spec->ignore_merges && spec->merges.empty());
  EXPECT_EQ(spec->pre, "gpt-2");
}

TEST(TiktokenRanks, TheNameSaysSchemeAndControlTokens) {
  const auto spec_of = [](std::string_view name, std::string_view scheme = "") {
    const auto spec = tokenizer_spec_from_ranks("YQ== 0\n", name, scheme, "x");
    EXPECT_TRUE(spec) << spec.error().message();
    return *spec;
  };
  TokenizerSpec spec = spec_of("cl100k_base.tiktoken");
  EXPECT_EQ(spec.pre, "llama-bpe");
  EXPECT_EQ(spec.eos, 100257);
  EXPECT_EQ(spec.tokens.size(), 100277U);
  EXPECT_EQ(spec.kinds[100258], TokenKind::control);
  spec = spec_of("o200k_base.tiktoken");
  EXPECT_EQ(spec.pre, "gpt-4o");
  EXPECT_EQ(spec.eos, 199999);
  spec = spec_of("Qwen.tiktoken");
  EXPECT_EQ(spec.pre, "qwen2");
  EXPECT_EQ(spec.tokens[151644], "<|im_start|>");
  EXPECT_EQ(spec.end_of_turn, (std::vector<Token>{151643, 151645}));
  EXPECT_EQ(spec_of("any.tiktoken", "r50k_base").pre, "gpt-2");
  EXPECT_EQ(spec_of("cl100k_base.tiktoken", "tekken").pre, "tekken");
  spec = spec_of("tokenizer.model", "llama3");
  EXPECT_TRUE(spec.add_bos);
  EXPECT_EQ(spec.bos, 128000);
  EXPECT_EQ(spec.eos, 128001);
}

TEST(TiktokenRanks, WhatIsBrokenIsNamed) {
  expect_part(error("YQ== 0\n", "some.tiktoken"), "unsupported x: 1 ranks and a name");
  expect_part(error("YQ== 0\n", "some.tiktoken", "strange"), "\"strange\"");
  expect_part(error(""), "corrupt x: no ranks");
  for (const char* line : {"YQ==", "YQ== ", "YQ== x", "YQ== 1 2", "? 1", " 1", "==== 1"}) {
    expect_part(error("YQ== 0\n" + std::string(line)), "line 2: no base64 text and rank");
  }
  expect_part(error("YQ== 5000"), "rank 5000 is outside");
  expect_part(error("YQ== -1"), "rank -1 is outside");
  expect_part(error("YQ== 0\nYg== 0"), "line 2: rank 0 appears twice");
  EXPECT_TRUE(looks_like_ranks("\nIQ== 0\nIg== 1\n"));
  EXPECT_FALSE(looks_like_ranks("1 'a' 1"));
  EXPECT_FALSE(looks_like_ranks(""));
}

class TiktokenFiles : public testing::TestWithParam<const char*> {};

TEST_P(TiktokenFiles, IdsAndTextEqualTheReference) {
  const std::string name = "tokenizers/tiktoken/" + std::string(GetParam());
  const std::string ranks = shared_file(name + ".tiktoken");
  if (ranks.empty()) GTEST_SKIP() << name;
  const auto tokenizer = open_tokenizer_file(ranks);
  ASSERT_TRUE(tokenizer) << tokenizer.error().message();
  const std::string path = shared_file(name + ".cases.json");
  const Json cases = (*parse_json(*read_text_file(path), path)).at("cases");
  ASSERT_GE(cases.size(), 60U);
  for (const Json& one : cases) {
    const auto text = one["text"].get<std::string>();
    std::vector<Token> ids;
    (*tokenizer)->encode(text, SpecialParsing::off, false, ids);
    EXPECT_EQ(ids, one["ids"].get<std::vector<Token>>()) << text;
    EXPECT_EQ((*tokenizer)->decode(ids, false), text);
  }
}

INSTANTIATE_TEST_SUITE_P(Files, TiktokenFiles, testing::Values("cl100k_base", "qwen"));

}  // namespace
}  // namespace ruv::tiktoken_ranks_test
