#include "text/token_prefixes.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/rng.h"
#include "text/test_vocabularies.h"

namespace ruv {
namespace {

std::vector<Token> sorted(std::span<const Token> ids) {
  std::vector<Token> list(ids.begin(), ids.end());
  std::ranges::sort(list);
  return list;
}

// Every text of up to three bytes of the vocabulary's own, against a look at every token.
void expect_same_as_looking_at_all(const Tokenizer& tokenizer) {
  const TokenPrefixes prefixes(tokenizer);
  Rng rng(5);
  const auto n = static_cast<uint64_t>(tokenizer.vocab_size());
  for (int round = 0; round < 300; ++round) {
    std::string text = tokenizer.token_bytes(static_cast<Token>(rng.below(n)), true);
    text = text.substr(0, 1 + rng.below(4));
    std::vector<Token> beginning;
    std::vector<Token> equal;
    for (Token id = 0; id < tokenizer.vocab_size(); ++id) {
      const std::string bytes = tokenizer.token_bytes(id, false);
      if (bytes.empty() || tokenizer.is_control(id) || tokenizer.ends_answer(id)) continue;
      if (bytes.starts_with(text)) beginning.push_back(id);
      if (bytes == text) equal.push_back(id);
    }
    EXPECT_EQ(sorted(prefixes.beginning_with(text)), beginning) << text;
    EXPECT_EQ(sorted(prefixes.equal_to(text)), equal) << text;
    EXPECT_EQ(prefixes.longer_than(text).size(), beginning.size() - equal.size());
  }
}

TEST(TokenPrefixes, AreWhatALookAtEveryTokenFinds) {
  expect_same_as_looking_at_all(
      *test_tokenizer(byte_test_spec({"a b", "ab c", "Ġ a", "Ġa b", "b c", "abc abc"})));
  expect_same_as_looking_at_all(
      *test_tokenizer(piece_test_spec({"▁a", "a", "b", "ab", "▁ab", "abab", "日", "日本", "▁"})));
}

TEST(TokenPrefixes, ControlEndAndUnusedTokensAreOut) {
  TokenizerSpec spec = byte_test_spec({"a b"});
  const Token unused = add_test_token(spec, "abx", TokenKind::unused);
  const Token turn = add_test_token(spec, "aby", TokenKind::normal);
  spec.end_of_turn = {turn};
  const auto tokenizer = test_tokenizer(spec);
  const TokenPrefixes prefixes(*tokenizer);
  EXPECT_FALSE(prefixes.contains(unused));
  EXPECT_FALSE(prefixes.contains(turn));
  EXPECT_FALSE(prefixes.contains(*spec.bos));
  EXPECT_TRUE(prefixes.beginning_with("<bos>").empty());
  EXPECT_EQ(prefixes.beginning_with("<tool>").size(), 1U);
  EXPECT_EQ(prefixes.bytes(256), "ab");
  EXPECT_EQ(prefixes.longest(), 6U);
}

TEST(TokenPrefixes, PiecesBeginWithTheirSpace) {
  const auto tokenizer = test_tokenizer(piece_test_spec({"▁the", "▁th", "he"}));
  const TokenPrefixes prefixes(*tokenizer);
  EXPECT_EQ(prefixes.beginning_with(" th").size(), 2U);
  EXPECT_EQ(prefixes.longer_than(" th").size(), 1U);
  EXPECT_EQ(prefixes.equal_to(" the").size(), 1U);
  EXPECT_EQ(prefixes.beginning_with("\xE2").size(), 1U);  // <0xE2>, not the mark of the space
}

}  // namespace
}  // namespace ruv
