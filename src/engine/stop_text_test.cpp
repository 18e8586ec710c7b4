// Any split of the text gives the same answer, and never a part of a stop string.
#include "engine/stop_text.h"

#include <gtest/gtest.h>

#include "base/rng.h"

namespace ruv {
namespace {

std::string run(const std::vector<std::string>& stops, const std::vector<std::string>& pieces) {
  StopText stop(stops);
  std::string out;
  for (const std::string& piece : pieces) out += stop.push(piece);
  return out + stop.finish();
}

TEST(StopText, EndsBeforeTheEarliestStop) {
  EXPECT_EQ(run({"\n\n", "END"}, {"one EN", "D two\n\n"}), "one ");
  EXPECT_EQ(run({"\n\n"}, {"a\n", "b\n", "\nc"}), "a\nb");
}

TEST(StopText, OfTwoThatEndTogetherTheLongerCounts) {
  EXPECT_EQ(run({"xab", "ab"}, {"1xab2"}), "1");
  EXPECT_EQ(run({"ab", "xab"}, {"1xab2"}), "1");
}

TEST(StopText, SaysWhichItWas) {
  StopText stop({"ab", "xab", "c"});
  EXPECT_EQ(stop.found(), "");
  EXPECT_EQ(stop.push("1xa"), "1");
  EXPECT_EQ(stop.push("b2"), "");
  EXPECT_EQ(stop.found(), "xab");
}

TEST(StopText, MayBelongToTheAnswer) {
  StopText stop({"ab"}, true);
  EXPECT_EQ(stop.push("1a"), "1");
  EXPECT_EQ(stop.push("b2"), "ab");
  EXPECT_EQ(stop.push("3") + stop.finish(), "");
}

TEST(StopText, HeldTextComesWhenNoStopFollows) {
  EXPECT_EQ(run({"<|end|>"}, {"x <|en", "ding"}), "x <|ending");
  EXPECT_EQ(run({"<|end|>"}, {"x <|en"}), "x <|en");
}

TEST(StopText, HoldsOnlyWhatMayBeAStop) {
  StopText stop({"abc"});
  EXPECT_EQ(stop.push("xxab"), "xx");
  EXPECT_EQ(stop.push("abd"), "ababd");
}

TEST(StopText, AnySplitIsTheSame) {
  Rng rng(3);
  for (int round = 0; round < 2000; ++round) {
    std::string text;
    for (int i = 0; i < 30; ++i) text += static_cast<char>('a' + rng.below(3));
    const std::vector<std::string> stops = {"abca", "cc", "bbb"};
    size_t first = text.size();
    for (const std::string& s : stops) first = std::min(first, text.find(s));
    std::vector<std::string> pieces;
    for (size_t at = 0; at < text.size();) {
      const size_t n = 1 + rng.below(5);
      pieces.push_back(text.substr(at, n));
      at += n;
    }
    std::vector<std::string> letters;
    for (char c : text) letters.emplace_back(1, c);
    const std::string expected = run(stops, letters);
    EXPECT_LE(expected.size(), text.size());
    if (first == text.size()) {
      EXPECT_EQ(expected, text);
    }
    EXPECT_EQ(run(stops, pieces), expected) << text;
  }
}

// Whatever the pieces: a stop counts where it ends in a watched one.
TEST(StopText, CountsWhereItIsWatchedFor) {
  const auto watched_from = [](const std::vector<std::string>& stops, size_t n_unwatched,
                               const std::vector<std::string>& pieces) {
    StopText stop(stops);
    std::string out;
    for (size_t i = 0; i < pieces.size(); ++i) {
      stop.watch(i >= n_unwatched);
      out += stop.push(pieces[i]);
    }
    return out + stop.finish();
  };
  EXPECT_EQ(watched_from({"ab"}, 0, {"1ab2", "3ab4"}), "1");
  EXPECT_EQ(watched_from({"ab"}, 1, {"1ab2", "3ab4"}), "1ab23");
  EXPECT_EQ(watched_from({"ab"}, 2, {"1ab2", "3ab4"}), "1ab23ab4");
  // Begun before, ended after.
  EXPECT_EQ(watched_from({"ab"}, 1, {"1a", "b2"}), "1");
  // What is held back for a longer one has a shorter one in it that has not counted.
  EXPECT_EQ(watched_from({"ab", "xabyz"}, 1, {"1xab", "y2ab3"}), "1xaby2");
  EXPECT_EQ(watched_from({"ab", "xabyz"}, 1, {"1xab", "yz3"}), "1");
  EXPECT_EQ(watched_from({"aa"}, 1, {"1a", "aa2"}), "1");
  EXPECT_EQ(watched_from({"aa"}, 1, {"1aa", "a2"}), "1a");
}

}  // namespace
}  // namespace ruv
