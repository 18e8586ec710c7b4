// Against a reference that compares every earlier place with the end of the history, token by
// token.
#include "engine/sample/dry_penalty.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "base/rng.h"
#include "text/test_vocabularies.h"

namespace ruv {
namespace {

// Whether a text of `breakers` lies in these bytes.
bool has_breaker(const std::string& text, const std::vector<std::string>& breakers) {
  for (const std::string& breaker : breakers) {
    if (text.find(breaker) != text.npos) return true;
  }
  return false;
}

// How many bytes at the end are newer than the newest breaker that begins there.
size_t newer_than_breakers(const std::string& all, const std::vector<std::string>& breakers) {
  for (size_t i = 0; i < all.size(); ++i) {
    size_t longest = 0;
    for (const std::string& breaker : breakers) {
      const bool begins = all.substr(all.size() - 1 - i).starts_with(breaker);
      if (begins) longest = std::max(longest, breaker.size());
    }
    if (longest > 0) return i + 1 - longest;
  }
  return all.size();
}

// One byte is one token. A repetition is tokens before an earlier place that equal those at the
// end, which are newer than a breaker.
std::map<Token, double> reference(const GenerateParams& p, const std::string& history) {
  std::string all = history;
  if (p.dry_penalty_last_n >= 0 && all.size() > static_cast<size_t>(p.dry_penalty_last_n)) {
    all = all.substr(all.size() - static_cast<size_t>(p.dry_penalty_last_n));
  }
  const size_t most = newer_than_breakers(all, p.dry_sequence_breakers);
  std::map<Token, size_t> longest;
  for (size_t next = 1; next < all.size(); ++next) {
    size_t n = 0;
    while (n < most && n < next && all[next - 1 - n] == all[all.size() - 1 - n]) ++n;
    if (n < static_cast<size_t>(p.dry_allowed_length)) continue;
    if (has_breaker(all.substr(next, 1), p.dry_sequence_breakers)) continue;
    size_t& known = longest[all[next]];
    known = std::max(known, n);
  }
  std::map<Token, double> penalties;
  for (const auto& [id, n] : longest) {
    penalties[id] =
        p.dry_multiplier *
        std::pow(p.dry_base, static_cast<double>(n) - static_cast<double>(p.dry_allowed_length));
  }
  return penalties;
}

TEST(DryPenalty, IsThatOfTheReference) {
  const auto tokenizer = test_tokenizer(byte_test_spec({}));
  Rng rng(12);
  DryScratch scratch;
  int64_t n_penalties = 0;
  int64_t n_long = 0;
  for (int i = 0; i < 10'000; ++i) {
    GenerateParams p;
    p.dry_multiplier = 0.1 + rng.uniform();
    p.dry_base = 1 + rng.uniform();
    p.dry_allowed_length = static_cast<int64_t>(rng.below(4));
    p.dry_penalty_last_n = rng.below(2) == 0 ? -1 : static_cast<int64_t>(1 + rng.below(40));
    p.dry_sequence_breakers = {"\n"};
    if (rng.below(2) == 0) p.dry_sequence_breakers.push_back("cb");
    if (rng.below(3) == 0) p.dry_sequence_breakers.push_back("bac");
    if (rng.below(3) == 0) p.dry_sequence_breakers.push_back("\nb");
    if (rng.below(8) == 0) p.dry_sequence_breakers.clear();
    // A few letters, and stretches said again.
    std::string text;
    while (text.size() < 60) {
      if (text.size() > 8 && rng.below(2) == 0) {
        text += text.substr(rng.below(text.size() - 6), 2 + rng.below(6));
      } else {
        text += rng.below(12) == 0 ? '\n' : static_cast<char>('a' + rng.below(3));
      }
    }
    text.resize(1 + rng.below(text.size()));
    const std::vector<Token> tokens(text.begin(), text.end());
    const size_t n_draft = rng.below(std::min<size_t>(tokens.size(), 5) + 1);
    const std::span<const Token> all = tokens;
    std::vector<float> logits(260, 0);
    DryPenalty(p, tokenizer.get())
        .apply(logits, all.first(all.size() - n_draft), all.last(n_draft), scratch);
    const std::map<Token, double> wanted = reference(p, text);
    for (Token id = 0; id < 260; ++id) {
      const auto found = wanted.find(id);
      const double penalty = found == wanted.end() ? 0 : found->second;
      ASSERT_NEAR(-logits[static_cast<size_t>(id)], penalty, 1e-5 * penalty)
          << i << ": " << id << " after " << text;
      n_penalties += penalty > 0;
      n_long += penalty > p.dry_multiplier * p.dry_base;
    }
  }
  EXPECT_GT(n_penalties, 10'000);
  EXPECT_GT(n_long, 1000);
}

// A breaker may begin inside a token and end in later ones, and a token that has one whole is never
// penalised.
TEST(SequenceBreakers, AreFoundAcrossTokens) {
  const auto tokenizer = test_tokenizer(byte_test_spec({"x y", "a b", "ab c"}));
  const Token xy = 256, ab = 257, abc = 258;
  const SequenceBreakers breakers({"yab"}, tokenizer.get());
  std::string text;
  // The newest first: x, ab, xy, c.
  const std::vector<Token> recent = {'x', ab, xy, 'c'};
  EXPECT_EQ(breakers.n_after(recent, 2, text), 1);
  EXPECT_EQ(breakers.n_after(recent, 1, text), -1);
  EXPECT_EQ(breakers.n_after(recent, 3, text), -1);
  // The rest of it is another token.
  EXPECT_EQ(breakers.n_after(std::vector<Token>{abc, xy}, 1, text), -1);
  // There is no rest after the newest.
  EXPECT_EQ(breakers.n_after(std::vector<Token>{xy}, 0, text), -1);
  EXPECT_FALSE(breakers.holds_one(abc, text));
  EXPECT_TRUE(SequenceBreakers({"b"}, tokenizer.get()).holds_one(abc, text));
  EXPECT_FALSE(SequenceBreakers({"b"}, nullptr).holds_one(abc, text));
}

// Prompts may have ids of the model's matrices that no text gives and no answer has.
TEST(DryPenalty, TakesIdsBeyondTheVocabulary) {
  const auto tokenizer = test_tokenizer(byte_test_spec({}));
  GenerateParams p;
  p.dry_multiplier = 1;
  const std::vector<Token> tokens = {9000, 8, 9000, 7, 8, 9000, 8, 9000};
  std::vector<float> logits(300, 0);
  DryScratch scratch;
  DryPenalty(p, tokenizer.get()).apply(logits, tokens, {}, scratch);
  EXPECT_EQ(logits[8], -1);
  EXPECT_EQ(logits[7], -1.75F);
}

TEST(DryPenalty, IsFiniteAndPassesOverMedia) {
  GenerateParams p;
  p.dry_multiplier = 100;
  p.dry_base = 100;
  std::vector<Token> tokens(200, 7);
  std::vector<float> logits(10, 0);
  DryScratch scratch;
  DryPenalty(p, nullptr).apply(logits, tokens, {}, scratch);
  EXPECT_LT(logits[7], -1e20F);
  EXPECT_TRUE(std::isfinite(logits[7]));
  // Rows of media have no token, and nothing is repeated over them.
  logits.assign(10, 0);
  tokens = {1, 2, 3, 4, -1, 2, 3};
  DryPenalty(p, nullptr).apply(logits, tokens, {}, scratch);
  EXPECT_EQ(logits[4], -100);
  tokens = {1, 2, 3, 4, 2, -1, 3};
  logits.assign(10, 0);
  DryPenalty(p, nullptr).apply(logits, tokens, {}, scratch);
  EXPECT_EQ(logits, std::vector<float>(10, 0));
}

}  // namespace
}  // namespace ruv
