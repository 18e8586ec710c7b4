// The automaton against searching the text itself.
#include "engine/speculate/suffix_automaton.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/rng.h"

namespace ruv {
namespace {

using Tokens = std::vector<Token>;

// Earlier ends of the last `length` tokens, ascending.
std::vector<int64_t> earlier_ends(const Tokens& text, int64_t length) {
  std::vector<int64_t> ends;
  const auto n = static_cast<int64_t>(text.size());
  for (int64_t end = length; end < n; ++end) {
    if (std::equal(text.end() - length, text.end(), text.begin() + (end - length))) {
      ends.push_back(end);
    }
  }
  return ends;
}

// The longest suffix that stood before.
int64_t longest_repeat(const Tokens& text) {
  auto length = static_cast<int64_t>(text.size());
  while (length > 0 && earlier_ends(text, length).empty()) --length;
  return length;
}

void expect_right(const SuffixAutomaton& automaton, const Tokens& text) {
  const SuffixAutomaton::Match match = automaton.longest();
  const int64_t expected = longest_repeat(text);
  ASSERT_EQ(match.length, expected) << testing::PrintToString(text);
  if (expected == 0) return;
  ASSERT_EQ(match.end, earlier_ends(text, expected).back()) << testing::PrintToString(text);
}

Tokens random_text(Rng& rng, uint64_t n, uint64_t alphabet) {
  Tokens text;
  while (text.size() < n) {
    const uint64_t kind = rng.below(4);
    if (kind == 0 && text.size() > 2) {  // copy an earlier stretch
      const size_t begin = rng.below(text.size());
      const size_t length = 1 + rng.below(12);
      for (size_t i = 0; i < length; ++i) text.push_back(text[begin + i]);
    } else {
      text.push_back(static_cast<Token>(rng.below(alphabet)));
    }
  }
  text.resize(n);
  return text;
}

TEST(SuffixAutomatonTest, AgreesWithSearchingTheTextTokenByToken) {
  Rng rng(1);
  for (int round = 0; round < 3000; ++round) {
    const Tokens text = random_text(rng, 1 + rng.below(60), 1 + rng.below(5));
    SuffixAutomaton automaton(1000);
    Tokens so_far;
    for (const Token token : text) {
      so_far.push_back(token);
      automaton.append({&token, 1});
      expect_right(automaton, so_far);
      if (HasFatalFailure()) FAIL() << "round " << round;
    }
  }
}

TEST(SuffixAutomatonTest, LargePiecesAndSmallOnesGiveTheSame) {
  Rng rng(2);
  for (int round = 0; round < 60; ++round) {
    const uint64_t alphabet = 2 + rng.below(round % 2 == 0 ? 3 : 300);
    const Tokens text = random_text(rng, 300 + rng.below(500), alphabet);
    SuffixAutomaton pieces(10000);
    SuffixAutomaton single(10000);
    size_t at = 0;
    while (at < text.size()) {
      const size_t n = std::min<size_t>(1 + rng.below(round % 3 == 0 ? 700 : 40), text.size() - at);
      pieces.append(std::span(text).subspan(at, n));
      for (size_t i = at; i < at + n; ++i) single.append({&text[i], 1});
      at += n;
      const SuffixAutomaton::Match a = pieces.longest();
      const SuffixAutomaton::Match b = single.longest();
      ASSERT_EQ(a.length, b.length);
      ASSERT_EQ(a.end, b.end);
    }
    expect_right(pieces, text);
  }
}

TEST(SuffixAutomatonTest, LongRunsCostNoMoreThanTheirLength) {
  // Quadratic work on 200,000 equal tokens would not end within the test's time.
  const Tokens run(200000, 7);
  SuffixAutomaton automaton(1 << 20);
  for (const Token& token : run) automaton.append({&token, 1});
  const SuffixAutomaton::Match match = automaton.longest();
  EXPECT_EQ(match.length, 199999);
  EXPECT_EQ(match.end, 199999);
  SuffixAutomaton bulk(1 << 20);
  bulk.append(run);
  EXPECT_EQ(bulk.longest().length, 199999);
  EXPECT_EQ(bulk.longest().end, 199999);
}

TEST(SuffixAutomatonTest, MemoryIsBoundedAndReserved) {
  Rng rng(4);
  constexpr int64_t kMax = 5000;
  SuffixAutomaton automaton(kMax);
  Tokens text = random_text(rng, 40000, 50);
  const Tokens wanted = random_text(rng, 30, 50);
  text.insert(text.end() - 100, wanted.begin(), wanted.end());
  automaton.append(std::span(text).first(100));
  automaton.reserve(kMax);
  for (size_t i = 100; i < text.size(); ++i) {
    automaton.append({&text[i], 1});
    ASSERT_LE(automaton.n_tokens(), kMax);
    ASSERT_LE(automaton.n_bytes(), kMax * 250);
  }
  // What is recent is still found.
  automaton.append(wanted);
  const SuffixAutomaton::Match match = automaton.longest();
  EXPECT_GE(match.length, 30);
  EXPECT_EQ(automaton.n_tokens() - 30 - 100, match.end);
  // A piece larger than all that is kept.
  automaton.append(text);
  EXPECT_EQ(automaton.n_tokens(), kMax);
  EXPECT_EQ(automaton.token(kMax - 1), text.back());
}

TEST(SuffixAutomatonTest, ForgetsOnlyWhenItIsFull) {
  SuffixAutomaton automaton(10);
  automaton.append(Tokens{1, 2, 3, 4, 5, 6});
  automaton.append(Tokens{7, 8, 9, 10});
  EXPECT_EQ(automaton.n_tokens(), 10);
  automaton.append(Tokens{11});
  EXPECT_EQ(automaton.n_tokens(), 6);
  EXPECT_EQ(automaton.token(0), 6);
}

TEST(SuffixAutomatonTest, EmptyAndFirstTokensMatchNothing) {
  SuffixAutomaton automaton(16);
  EXPECT_EQ(automaton.longest().length, 0);
  automaton.append({});
  EXPECT_EQ(automaton.longest().length, 0);
  const Tokens text = {3};
  automaton.append(text);
  EXPECT_EQ(automaton.longest().length, 0);
  automaton.append(text);
  EXPECT_EQ(automaton.longest().length, 1);
  EXPECT_EQ(automaton.longest().end, 1);
}

}  // namespace
}  // namespace ruv
