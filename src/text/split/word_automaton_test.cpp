// Random patterns over random texts: the automata against a matcher that backtracks.
#include "text/split/word_automaton.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/test_share.h"
#include "text/split/backtracking_test.h"
#include "text/split/pre_tokenizer.h"

namespace ruv::word_automaton_test {
namespace {

constexpr SplitBehavior kBehaviors[] = {SplitBehavior::isolated, SplitBehavior::removed,
                                        SplitBehavior::merged_with_previous,
                                        SplitBehavior::merged_with_next, SplitBehavior::contiguous};

std::vector<Word> words_of(const PreTokenizer& splitter, std::string_view text) {
  std::vector<Word> all;
  std::vector<Word> words;
  for (size_t at = 0; splitter.next_words(text, at, words);) {
    all.insert(all.end(), words.begin(), words.end());
  }
  return all;
}

std::string random_text(Rng& rng) {
  const std::vector<std::string> letters = DrawnPattern::letters();
  std::string text;
  for (uint64_t n = rng.below(16); n > 0; --n) text += letters[rng.below(letters.size())];
  return text;
}

std::string shown(const std::vector<Word>& words) {
  std::string out;
  for (const Word& word : words) {
    out += "[" + std::to_string(word.begin) + "," + std::to_string(word.end) + ")";
  }
  return out;
}

TEST(WordAutomaton, AgreesWithBacktracking) {
  Rng rng(17);
  int n_run = 0;
  for (size_t i = 0; i < 1500 / kTestShare; ++i) {
    const DrawnPattern pattern = DrawnPattern::draw(rng);
    const SplitStep step{.regex = pattern.text(),
                         .behavior = kBehaviors[rng.below(2) == 0 ? 0 : rng.below(5)],
                         .invert = rng.below(4) == 0};
    const auto splitter = PreTokenizer::create({&step, 1});
    if (!splitter) {
      ASSERT_EQ(splitter.error().code(), Code::unsupported) << splitter.error().message();
      continue;
    }
    ++n_run;
    for (int j = 0; j < 25; ++j) {
      const std::string text = random_text(rng);
      const auto expected =
          reference_pieces(text, step.behavior, step.invert,
                           [&](std::string_view s, size_t at) { return pattern.match(s, at); });
      if (pattern.exhausted()) break;
      ASSERT_EQ(shown(words_of(*splitter, text)), shown(expected))
          << step.regex << " on " << testing::PrintToString(text) << " behavior "
          << static_cast<int>(step.behavior) << " invert " << step.invert;
    }
  }
  EXPECT_GT(n_run, 900 / static_cast<int>(kTestShare));
}

TEST(WordAutomaton, StepsRunInsideThePiecesBefore) {
  Rng rng(18);
  for (size_t i = 0; i < 600 / kTestShare; ++i) {
    std::vector<DrawnPattern> patterns;
    std::vector<SplitStep> steps;
    for (uint64_t n = 2 + rng.below(2); n > 0; --n) {
      patterns.push_back(DrawnPattern::draw(rng));
      steps.push_back({patterns.back().text(), kBehaviors[rng.below(3) == 0 ? rng.below(5) : 0]});
    }
    // Steps that are simple join the automaton of the next.
    if (rng.below(2) == 0) steps[0] = {"[ab]{1,2}"};
    const auto splitter = PreTokenizer::create(steps);
    if (!splitter) continue;
    for (int j = 0; j < 20; ++j) {
      const std::string text = random_text(rng);
      std::vector<Word> expected{{0, static_cast<uint32_t>(text.size())}};
      for (size_t k = 0; k < steps.size(); ++k) {
        std::vector<Word> finer;
        for (const Word& word : expected) {
          const std::string_view piece =
              std::string_view(text).substr(word.begin, word.end - word.begin);
          const auto simple = [](std::string_view s, size_t at) {
            size_t end = at;
            while (end < s.size() && end < at + 2 && (s[end] == 'a' || s[end] == 'b')) ++end;
            return end == at ? std::string_view::npos : end;
          };
          const auto drawn = [&](std::string_view s, size_t at) {
            return patterns[k].match(s, at);
          };
          const bool is_simple = steps[k].regex == "[ab]{1,2}";
          for (const Word& w : is_simple
                                   ? reference_pieces(piece, steps[k].behavior, false, simple)
                                   : reference_pieces(piece, steps[k].behavior, false, drawn)) {
            finer.push_back({w.begin + word.begin, w.end + word.begin});
          }
        }
        expected = finer;
      }
      const auto given_up = [](const DrawnPattern& pattern) { return pattern.exhausted(); };
      if (std::any_of(patterns.begin(), patterns.end(), given_up)) break;
      ASSERT_EQ(shown(words_of(*splitter, text)), shown(expected))
          << steps[0].regex << " then " << steps[1].regex << " then "
          << (steps.size() > 2 ? steps[2].regex : "nothing") << " on "
          << testing::PrintToString(text);
    }
  }
}

// Blocks must join without a seam, whatever stands where one ends.
TEST(WordAutomaton, LongTextsAreCutAsShortOnes) {
  Rng rng(19);
  for (const char* name : {"gpt-2", "gpt-4o", "deepseek-v3", "deepseek-coder", "falcon", "bloom"}) {
    const auto splitter = PreTokenizer::find(name);
    ASSERT_TRUE(splitter) << name;
    // Every scheme begins a word at a letter behind a line end.
    std::string text;
    std::string expected;
    const std::vector<std::string> parts = {"word", " the", " ", "  ",      "12345",
                                            "!?",   "日本", "é", "\xF0\x9F"};
    while (text.size() < 40000) {
      std::string line = "x";
      for (uint64_t n = rng.below(30); n > 0; --n) line += parts[rng.below(parts.size())];
      line += "y\n";
      std::vector<Word> words = words_of(*splitter, line);
      for (Word& word : words) {
        word.begin += static_cast<uint32_t>(text.size());
        word.end += static_cast<uint32_t>(text.size());
      }
      expected += shown(words);
      text += line;
    }
    EXPECT_EQ(shown(words_of(*splitter, text)), expected) << name;
  }
}

// Quadratic time would not end within the limit of the test suite.
TEST(WordAutomaton, FailedScansAreNotRepeated) {
  const SplitStep steps[] = {{.regex = R"(\s+$)"},
                             {.regex = "[ab]*c", .behavior = SplitBehavior::removed}};
  for (const SplitStep& step : steps) {
    const auto splitter = PreTokenizer::create({&step, 1});
    ASSERT_TRUE(splitter);
    EXPECT_EQ(words_of(*splitter, std::string(2000000, ' ') + "x").size(), 1U);
    EXPECT_EQ(words_of(*splitter, std::string(2000000, 'a') + "x").size(), 1U);
  }
}

TEST(WordAutomaton, CharactersInEndlessRowsAreOneWord) {
  const std::string letters(100000, 'a');
  const std::string spaces(100000, ' ');
  const auto splitter = *PreTokenizer::find("gpt-2");
  EXPECT_EQ(words_of(splitter, letters).size(), 1U);
  EXPECT_EQ(words_of(splitter, spaces).size(), 1U);
  EXPECT_EQ(words_of(splitter, spaces + "x").size(), 2U);
  EXPECT_EQ(words_of(*PreTokenizer::find("llama-bpe"), "\n" + spaces + "x").size(), 3U);
}

}  // namespace
}  // namespace ruv::word_automaton_test
