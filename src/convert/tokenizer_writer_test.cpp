// Tokenizers that are written and read again: made ones, and published vocabularies.
#include "convert/tokenizer_writer.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "convert/score_merges.h"
#include "format/test_folder.h"
#include "format/tokenizer_file.h"
#include "format/tokenizer_json.h"
#include "text/end_of_turn.h"

namespace ruv::tokenizer_writer_test {
namespace {

// Why what is written is not the same; empty: it is.
std::string difference(const TokenizerSpec& spec) {
  const auto json = tokenizer_json_of(spec, "test");
  if (!json) return json.error().message();
  const auto read = tokenizer_spec_from_json(*json, tokenizer_config_of(spec, "{{x}}", 64), "test");
  if (!read) return read.error().message();
  return check_same_tokenizer(spec, *read, "test").message();
}

// Pieces a, b, c, ab and abc besides the usual ones.
TokenizerSpec pieces() {
  TokenizerSpec spec;
  spec.kind = TokenizerKind::sentencepiece_bpe;
  spec.tokens = {"<unk>", "<s>", "</s>", "a", "b", "c", "\u2581", "ab", "abc", "\u2581a"};
  spec.kinds.assign(spec.tokens.size(), TokenKind::normal);
  spec.kinds[0] = TokenKind::unknown;
  spec.kinds[1] = spec.kinds[2] = TokenKind::control;
  spec.scores = {0, 0, 0, -10, -11, -12, -13, -1, -2, -3};
  spec.unk = 0;
  spec.bos = 1;
  spec.eos = 2;
  spec.add_bos = spec.add_space_prefix = true;
  for (Token id = 0; id < 3; ++id) {
    spec.added.push_back({.id = id, .text = spec.tokens[static_cast<size_t>(id)], .special = true});
  }
  spec.end_of_turn = find_end_of_turn(spec);
  return spec;
}

TEST(TokenizerWriter, PiecesAreMergedAsByScores) {
  TokenizerSpec spec = pieces();
  const auto merges = merges_of_scores(spec, "test");
  ASSERT_TRUE(merges);
  EXPECT_EQ(*merges, (std::vector<std::string>{"a b", "ab c", "\u2581 a"}));
  EXPECT_EQ(difference(spec), "");
  spec.add_space_prefix = false;
  EXPECT_EQ(difference(spec), "");
  spec.add_eos = true;
  EXPECT_EQ(difference(spec), "");
}

TEST(TokenizerWriter, TiesThatTheOrderDecidesAreRefused) {
  TokenizerSpec spec = pieces();
  spec.tokens.insert(spec.tokens.end(), {"bc", "ca"});
  spec.kinds.insert(spec.kinds.end(), 2, TokenKind::normal);
  spec.scores = {0, 0, 0, -10, -11, -12, -13, -1, -30, -20, -1, -2};
  // "abc" is "ab" and "c" from the left; a list that has "b c" first would make "a" and "bc".
  EXPECT_EQ(difference(spec), "");
  std::swap(spec.tokens[7], spec.tokens[10]);
  EXPECT_NE(difference(spec).find("tokenizer.ggml.scores"), std::string::npos);
}

TEST(TokenizerWriter, WhatAFileCannotSayIsNamed) {
  TokenizerSpec spec = pieces();
  spec.tokens[5] = "b";
  EXPECT_NE(difference(spec).find("tokenizer.ggml.tokens"), std::string::npos);
  spec = pieces();
  spec.kind = TokenizerKind::unigram;
  EXPECT_NE(difference(spec).find("tokenizer.ggml.model"), std::string::npos);
  spec = pieces();
  spec.remove_extra_spaces = true;
  EXPECT_NE(difference(spec), "");
}

class Published : public testing::TestWithParam<const char*> {};

TEST_P(Published, IsReadAsItWasWritten) {
  const std::string path =
      shared_file(std::string("tokenizers/ggml-vocab/ggml-vocab-") + GetParam() + ".gguf");
  if (path.empty()) GTEST_SKIP() << "no shared data";
  const auto spec = read_tokenizer_spec(path);
  ASSERT_TRUE(spec) << spec.error().message();
  EXPECT_EQ(difference(*spec), "");
}
INSTANTIATE_TEST_SUITE_P(Vocabularies, Published,
                         testing::Values("gpt-2", "llama-spm", "falcon", "starcoder"),
                         [](const auto& test) {
                           std::string name = test.param;
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

}  // namespace
}  // namespace ruv::tokenizer_writer_test
