#include "engine/sample/token_bans.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "base/rng.h"
#include "text/test_vocabularies.h"

namespace ruv {
namespace {

std::vector<Token> banned(const TokenBans& bans, const SampleHistory& history, size_t n_vocab) {
  std::vector<float> logits(n_vocab, 1);
  bans.apply(logits, history);
  std::vector<Token> ids;
  for (size_t i = 0; i < n_vocab; ++i) {
    if (std::isinf(logits[i])) ids.push_back(static_cast<Token>(i));
  }
  return ids;
}

TEST(TokenBans, AreNeededWhereAsked) {
  EXPECT_FALSE(TokenBans({}, nullptr, 10).are_needed());
  EXPECT_TRUE(TokenBans({.allowed_token_ids = {1}}, nullptr, 10).are_needed());
  EXPECT_TRUE(TokenBans({.min_tokens = 1}, nullptr, 10).are_needed());
}

TEST(TokenBans, OnlyAllowedTokensStay) {
  const TokenBans bans({.allowed_token_ids = {1, 3, 3}}, nullptr, 5);
  EXPECT_EQ(banned(bans, {}, 5), (std::vector<Token>{0, 2, 4}));
}

// Against a look at every token of every word, along random answers that are cut anywhere into what
// is known and what is drafted.
TEST(TokenBans, FollowTheAnswerAndItsDraft) {
  const auto tokenizer = test_tokenizer(byte_test_spec({}));
  Rng rng(3);
  int n_banned = 0;
  for (int i = 0; i < 10'000; ++i) {
    GenerateParams params;
    params.min_tokens = static_cast<int64_t>(rng.below(6));
    params.stop_tokens = {'x', 'y'};
    const size_t n_words = rng.below(4);
    for (size_t k = 0; k < n_words; ++k) {
      std::string word(1 + rng.below(3), 'a');
      for (char& c : word) c = static_cast<char>('a' + rng.below(3));
      params.bad_words.push_back(word);
    }
    const int64_t n_vocab = tokenizer->vocab_size();
    std::vector<Token> all(rng.below(9));
    for (Token& id : all) id = static_cast<Token>(rng.below(4) == 3 ? ' ' : 'a' + rng.below(3));
    const auto n_generated = static_cast<int64_t>(rng.below(all.size() + 1));
    const std::string answer(all.end() - n_generated, all.end());
    std::set<Token> wanted;
    if (n_generated < params.min_tokens) {
      wanted = {'x', 'y'};
      for (Token id = 0; id < n_vocab; ++id) {
        if (tokenizer->ends_answer(id)) wanted.insert(id);
      }
    }
    for (const std::string& word : params.bad_words) {
      if (answer.ends_with(word.substr(0, word.size() - 1))) wanted.insert(word.back());
    }
    const size_t n_draft = rng.below(static_cast<uint64_t>(n_generated) + 1);
    const std::span<const Token> tokens = all;
    const SampleHistory history = {tokens.first(all.size() - n_draft), tokens.last(n_draft),
                                   n_generated};
    const TokenBans bans(params, tokenizer.get(), n_vocab);
    ASSERT_EQ(banned(bans, history, static_cast<size_t>(n_vocab)),
              std::vector<Token>(wanted.begin(), wanted.end()))
        << i;
    n_banned += !wanted.empty();
  }
  EXPECT_GT(n_banned, 5000);
}

}  // namespace
}  // namespace ruv
