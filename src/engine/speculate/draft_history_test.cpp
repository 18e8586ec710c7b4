// The history of finished answers: what is found, what is kept apart, what is forgotten.
#include "engine/speculate/draft_history.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>

#include "base/rng.h"

namespace ruv::draft_history_test {
namespace {

using Tokens = std::vector<Token>;

Tokens continuation(const DraftHistory& history, std::string_view scope, const Tokens& tokens,
                    int64_t n) {
  Tokens out;
  const DraftHistory::Match match = history.find(scope, tokens);
  if (match.length > 0) history.copy(match, n, out);
  return out;
}

Tokens random_answer(Rng& rng, uint64_t alphabet, uint64_t n) {
  Tokens answer;
  for (uint64_t i = 0; i < n; ++i) answer.push_back(static_cast<Token>(rng.below(alphabet)));
  return answer;
}

TEST(DraftHistoryTest, GoesOnAsTheAnswerDidUpToItsEnd) {
  DraftHistory history(1000, 1);
  history.add("", Tokens{1, 2, 3, 4, 5, 6, 7});
  EXPECT_EQ(continuation(history, "", {9, 1, 2, 3, 4}, 2), (Tokens{5, 6}));
  EXPECT_EQ(continuation(history, "", {9, 1, 2, 3, 4}, 10), (Tokens{5, 6, 7}));
  EXPECT_EQ(continuation(history, "", {2, 3, 4}, 10), Tokens{}) << "fewer tokens than a key";
  EXPECT_EQ(continuation(history, "", {4, 5, 6, 7}, 10), Tokens{}) << "nothing followed";
  EXPECT_EQ(history.find("", Tokens{9, 1, 2, 3, 4}).length, 4);
  history.add("", Tokens{8, 9, 9, 9, 1});
  EXPECT_EQ(continuation(history, "", {4, 5, 6, 7}, 10), Tokens{}) << "answers do not run together";
}

TEST(DraftHistoryTest, PrefersTheLongestThenTheMostRecentMatch) {
  DraftHistory history(1000, 1);
  history.add("", Tokens{7, 7, 1, 2, 3, 4, 50});
  history.add("", Tokens{8, 7, 1, 2, 3, 4, 60});
  history.add("", Tokens{9, 9, 1, 2, 3, 4, 70});
  EXPECT_EQ(continuation(history, "", {7, 7, 1, 2, 3, 4}, 1), Tokens{50});
  EXPECT_EQ(continuation(history, "", {0, 7, 1, 2, 3, 4}, 1), Tokens{60});
  EXPECT_EQ(continuation(history, "", {0, 0, 1, 2, 3, 4}, 1), Tokens{70});
}

TEST(DraftHistoryTest, ScopesNeverSeeEachOther) {
  Rng rng(5);
  DraftHistory history(2000, 99);
  std::deque<std::pair<std::string, Tokens>> added;
  for (int round = 0; round < 4000; ++round) {
    // Token numbers tell the scope, so a leak shows whatever way it comes about.
    const uint64_t tenant = rng.below(5);
    const std::string scope = "tenant " + std::to_string(tenant);
    Tokens answer = random_answer(rng, 3, 5 + rng.below(40));
    history.add(scope, answer);
    for (uint64_t other = 0; other < 5; ++other) {
      if (other == tenant) continue;
      // Asked with the very tokens of the newcomer: only own answers may be found.
      const Tokens asked(answer.begin(), answer.begin() + 5);
      Tokens out = continuation(history, "tenant " + std::to_string(other), asked, 64);
      const auto own = [&](const auto& entry) {
        if (entry.first != "tenant " + std::to_string(other)) return false;
        const Tokens& text = entry.second;
        for (size_t i = 4; i < text.size(); ++i) {
          if (std::equal(asked.begin() + 1, asked.end(), text.begin() + static_cast<long>(i) - 4) &&
              text.size() - i >= out.size() &&
              std::equal(out.begin(), out.end(), text.begin() + static_cast<long>(i))) {
            return true;
          }
        }
        return false;
      };
      if (!out.empty()) {
        ASSERT_TRUE(std::any_of(added.begin(), added.end(), own)) << "round " << round;
      }
    }
    added.emplace_back(scope, std::move(answer));
    if (added.size() > 600) added.pop_front();
  }
}

TEST(DraftHistoryTest, AnotherScopesUnseenTextIsNotFound) {
  DraftHistory history(1000, 3);
  history.add("a", Tokens{1, 2, 3, 4, 5, 6});
  EXPECT_EQ(continuation(history, "a", {1, 2, 3, 4}, 4), (Tokens{5, 6}));
  EXPECT_EQ(continuation(history, "b", {1, 2, 3, 4}, 4), Tokens{});
  history.add("b", Tokens{9, 9, 9, 9, 9, 9});
  EXPECT_EQ(continuation(history, "b", {1, 2, 3, 4}, 4), Tokens{});
  EXPECT_EQ(continuation(history, "", {1, 2, 3, 4}, 4), Tokens{});
}

TEST(DraftHistoryTest, MatchesEndWhereAnAnswerBegins) {
  DraftHistory history(1000, 3);
  history.add("b", Tokens{9, 9, 1, 2, 3});
  history.add("a", Tokens{4, 5, 6, 7, 8});
  // What lies between answers must not look like token 0, nor the text before it be compared.
  EXPECT_EQ(history.find("a", Tokens{1, 2, 3, 0, 4, 5, 6, 7}).length, 4);
}

TEST(DraftHistoryTest, OthersWhoSayTheSameDoNotHideIt) {
  DraftHistory history(4096, 3);
  history.add("a", Tokens{1, 2, 3, 4, 5, 6});
  for (int i = 0; i < 100; ++i) history.add("b", Tokens{1, 2, 3, 4, 7, 8});
  EXPECT_EQ(continuation(history, "a", {1, 2, 3, 4}, 4), (Tokens{5, 6}));
}

TEST(DraftHistoryTest, ForgetsTheOldestAndStaysWithinItsMemory) {
  Rng rng(6);
  DraftHistory history(1000, 7);
  const int64_t n_bytes = history.n_bytes();
  EXPECT_LE(n_bytes, 1024 * 16);
  const Tokens first = {1001, 1002, 1003, 1004, 1005, 1006};
  history.add("old", first);
  EXPECT_EQ(continuation(history, "old", first, 1), Tokens{});
  EXPECT_EQ(continuation(history, "old", {1001, 1002, 1003, 1004}, 1), Tokens{1005});
  Tokens newest;
  for (int i = 0; i < 1000; ++i) {
    newest = random_answer(rng, 1000, 5 + rng.below(30));
    history.add("scope " + std::to_string(i), newest);
    ASSERT_LE(history.n_tokens(), 1024);
    ASSERT_EQ(history.n_bytes(), n_bytes);
    ASSERT_LE(history.n_scopes(), 1024 / 5);
  }
  EXPECT_EQ(continuation(history, "old", {1001, 1002, 1003, 1004}, 1), Tokens{});
  newest.resize(4);
  EXPECT_EQ(continuation(history, "scope 999", newest, 1).size(), 1U);
  EXPECT_EQ(history.find("scope 0", newest).length, 0);
}

TEST(DraftHistoryTest, SizesArePowersOfTwoFromSixtyFourOn) {
  const auto n_bytes = [](int64_t max_tokens) { return DraftHistory(max_tokens, 1).n_bytes(); };
  EXPECT_EQ(n_bytes(1), n_bytes(64));
  EXPECT_EQ(n_bytes(65), n_bytes(128));
  EXPECT_EQ(n_bytes(128), 2 * n_bytes(64));
}

TEST(DraftHistoryTest, OneScopeMayFillItAgainAndAgain) {
  Rng rng(8);
  DraftHistory history(64, 7);
  for (int i = 0; i < 1000; ++i) {
    const Tokens answer = random_answer(rng, 9, rng.below(200));
    history.add("only", answer);
    ASSERT_LE(history.n_tokens(), 64);
    ASSERT_LE(history.n_scopes(), 1);
    if (answer.size() < 10) continue;
    const Tokens before(answer.end() - 6, answer.end() - 2);
    ASSERT_GE(continuation(history, "only", before, 2).size(), 1U);
  }
}

}  // namespace
}  // namespace ruv::draft_history_test
