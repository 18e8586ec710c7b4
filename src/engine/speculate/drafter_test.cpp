// What is proposed: right on texts that repeat, nothing on texts that do not.
#include "engine/speculate/drafter.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "base/rng.h"
#include "ruv/stream.h"

namespace ruv::drafter_test {
namespace {

using Tokens = std::vector<Token>;
constexpr int64_t kVocabulary = 50000;

Tokens random_text(Rng& rng, uint64_t n) {
  Tokens text;
  for (uint64_t i = 0; i < n; ++i) text.push_back(static_cast<Token>(rng.below(kVocabulary)));
  return text;
}

// Passes that generating `answer` takes, and the share of drafted tokens that are right.
struct CopyOutcome {
  int64_t n_passes = 0;
  int64_t n_drafted = 0;
  int64_t n_accepted = 0;
};
CopyOutcome generate(SequenceDrafter& drafter, const Tokens& answer, int64_t max_tokens) {
  CopyOutcome outcome;
  Draft draft;
  for (size_t at = 0; at < answer.size();) {
    drafter.propose(max_tokens, draft);
    size_t n = 0;
    if (!draft.empty()) {
      const Tokens& chain = draft.tokens;
      outcome.n_drafted += static_cast<int64_t>(chain.size());
      while (n < chain.size() && at + n < answer.size() && chain[n] == answer[at + n]) ++n;
      outcome.n_accepted += static_cast<int64_t>(n);
    }
    const size_t n_new = std::min(n + 1, answer.size() - at);
    drafter.accept(std::span(answer).subspan(at, n_new));
    at += n_new;
    ++outcome.n_passes;
  }
  return outcome;
}

TEST(DrafterTest, CopyingIsDraftedRight) {
  Rng rng(1);
  const Tokens document = random_text(rng, 2000);
  SequenceDrafter drafter(nullptr, "", kVocabulary, 8192);
  drafter.accept(document);
  const Tokens answer(document.begin() + 500, document.begin() + 1500);
  const CopyOutcome outcome = generate(drafter, answer, 16);
  // Two tokens to find the place, then 17 a pass.
  EXPECT_LE(outcome.n_passes, 2 + 998 / 17 + 1);
  EXPECT_GE(outcome.n_accepted, outcome.n_drafted - 16);
}

TEST(DrafterTest, EditingFindsItsPlaceAgain) {
  Rng rng(2);
  const Tokens document = random_text(rng, 3000);
  Tokens answer = document;
  for (size_t i = 20; i < answer.size(); i += 60) answer[i] = static_cast<Token>(rng.below(1000));
  SequenceDrafter drafter(nullptr, "", kVocabulary, 8192);
  drafter.accept(document);
  const CopyOutcome outcome = generate(drafter, answer, 12);
  // 50 stretches of 60 tokens: one pass with the edit, two plain ones, then 13 tokens a pass.
  EXPECT_LE(outcome.n_passes, 50 * 8 + 4);
}

TEST(DrafterTest, LoopsAreDraftedBeyondTheEndOfTheText) {
  SequenceDrafter drafter(nullptr, "", kVocabulary, 100);
  drafter.accept(Tokens{5, 6, 7, 5, 6, 7, 5, 6});
  Draft draft;
  drafter.propose(7, draft);
  EXPECT_EQ(draft.tokens, (Tokens{7, 5, 6, 7, 5, 6, 7}));
  EXPECT_EQ(draft.n_matched, 5);
  EXPECT_EQ(draft.source, DraftSource::sequence);
  SequenceDrafter equal(nullptr, "", kVocabulary, 100);
  equal.accept(Tokens(9, 4));
  equal.propose(5, draft);
  EXPECT_EQ(draft.tokens, Tokens(5, 4));
}

TEST(DrafterTest, NewTextIsNotDrafted) {
  Tokens text(1000);
  std::iota(text.begin(), text.end(), 0);
  SequenceDrafter drafter(nullptr, "", kVocabulary, 4096);
  Draft draft;
  drafter.propose(8, draft);
  EXPECT_TRUE(draft.empty());
  drafter.accept(text);
  drafter.propose(8, draft);
  EXPECT_TRUE(draft.empty());
  drafter.accept(Tokens{500});  // one token is too little evidence
  drafter.propose(8, draft);
  EXPECT_TRUE(draft.empty());
  drafter.accept(Tokens{501});
  drafter.propose(0, draft);
  EXPECT_TRUE(draft.empty());
  drafter.propose(3, draft);
  ASSERT_FALSE(draft.empty());
  EXPECT_EQ(draft.tokens, (Tokens{502, 503, 504}));
}

TEST(DrafterTest, HistoryServesWhereTheSequenceHasNothingBetter) {
  DraftHistory history(10000, 1);
  history.add("mine", Tokens{1, 2, 3, 4, 5, 6, 7, 8});
  history.add("theirs", Tokens{1, 2, 3, 4, 5, 100, 101});
  SequenceDrafter drafter(&history, "mine", kVocabulary, 100);
  drafter.accept(Tokens{20, 2, 3, 4, 5});
  Draft draft;
  drafter.propose(8, draft);
  ASSERT_FALSE(draft.empty());
  EXPECT_EQ(draft.tokens, (Tokens{6, 7, 8}));
  EXPECT_EQ(draft.source, DraftSource::history);
  EXPECT_EQ(draft.n_matched, 4);
  // A longer match in its own text goes before.
  SequenceDrafter own(&history, "mine", kVocabulary, 100);
  own.accept(Tokens{1, 2, 3, 4, 5, 90, 91, 92, 0, 1, 2, 3, 4, 5});
  own.propose(2, draft);
  EXPECT_EQ(draft.tokens, (Tokens{90, 91}));
  EXPECT_EQ(draft.source, DraftSource::sequence);
}

TEST(DrafterTest, OnlyTokensOfTheVocabularyAreProposed) {
  SequenceDrafter drafter(nullptr, "", 10, 100);
  drafter.accept(Tokens{1, 2, 3, 12, 4, 1, 2});
  Draft draft;
  drafter.propose(8, draft);
  EXPECT_EQ(draft.tokens, Tokens{3});
  drafter.accept(Tokens{3});
  drafter.propose(8, draft);
  EXPECT_TRUE(draft.empty());
}

// Two images between equal words.
TEST(DrafterTest, NothingReachesOverSkippedPlaces) {
  DraftHistory history(1000, 1);
  SequenceDrafter drafter(&history, "", kVocabulary, 200);
  Draft draft;
  drafter.accept(Tokens{1, 2, 3, 4});
  drafter.skip(30);
  drafter.propose(8, draft);
  EXPECT_TRUE(draft.empty());
  drafter.accept(Tokens{5, 6, 1, 2, 3, 4});
  EXPECT_EQ(drafter.n_tokens(), 40);
  drafter.propose(8, draft);
  EXPECT_EQ(draft.tokens, Tokens{}) << "an image follows there";
  drafter.skip(30);
  drafter.propose(8, draft);
  EXPECT_TRUE(draft.empty()) << "another image";
  drafter.accept(Tokens{5, 6});
  drafter.propose(8, draft);
  EXPECT_EQ(draft.tokens, (Tokens{1, 2, 3, 4}));
  EXPECT_EQ(draft.n_matched, 2) << "of the words after the image only";
}

TEST(DrafterTest, DraftsKeepTheirPromisesOnRandomTexts) {
  Rng rng(9);
  DraftHistory history(4096, 2);
  for (int round = 0; round < 300; ++round) {
    const uint64_t alphabet = 2 + rng.below(20);
    const auto random = [&](uint64_t n) {
      Tokens text;
      for (uint64_t i = 0; i < n; ++i) text.push_back(static_cast<Token>(rng.below(alphabet)));
      return text;
    };
    const int64_t vocabulary = static_cast<int64_t>(alphabet) - 1;
    SequenceDrafter drafter(&history, "s", vocabulary, 64);  // small: it forgets
    Tokens all = random(rng.below(100));
    drafter.accept(all);
    for (int step = 0; step < 20; ++step) {
      const auto max_tokens = static_cast<int64_t>(1 + rng.below(9));
      Draft draft;
      drafter.propose(max_tokens, draft);
      ASSERT_LE(std::ssize(draft.tokens), max_tokens);
      for (const Token token : draft.tokens) ASSERT_LT(token, vocabulary);
      const Tokens more = random(1 + rng.below(5));
      drafter.accept(more);
      all.insert(all.end(), more.begin(), more.end());
      ASSERT_EQ(drafter.n_tokens(), static_cast<int64_t>(all.size()));
    }
    history.add("s", all);
  }
}

}  // namespace
}  // namespace ruv::drafter_test
