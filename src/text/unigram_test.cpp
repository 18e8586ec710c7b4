// Unigram against a slow reference: the same rules over whole texts, one map look-up per substring,
// once in doubles per word and once in floats over the text. Goldens are of `sentencepiece` 0.2.
#include "text/unigram.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <map>

#include "base/rng.h"
#include "base/test_share.h"
#include "base/utf8.h"
#include "text/test_vocabularies.h"

namespace ruv::unigram_test {
namespace {

constexpr std::string_view kMark = "\u2581";

TokenizerSpec spec_of(const std::vector<std::pair<std::string, float>>& pieces) {
  TokenizerSpec spec;
  spec.kind = TokenizerKind::unigram;
  spec.byte_fallback = false;
  spec.tokens = {"<unk>", "<s>"};
  spec.kinds = {TokenKind::unknown, TokenKind::control};
  spec.scores = {0, 0};
  spec.unk = 0;
  for (const auto& [text, score] : pieces) {
    spec.tokens.push_back(text);
    spec.kinds.push_back(TokenKind::normal);
    spec.scores.push_back(score);
  }
  return spec;
}

// Ids and places; they must be those without places, ascend and stay inside the text.
void expect_places(const Tokenizer& tokenizer, std::string_view text) {
  std::vector<Token> ids;
  std::vector<TokenSpan> spans;
  TokenSink sink(&ids, &spans);
  const TextPart part{text, SpecialParsing::off};
  tokenizer.encode_parts({&part, 1}, false, sink);
  EXPECT_EQ(ids, test_ids(tokenizer, text)) << text;
  ASSERT_EQ(spans.size(), ids.size());
  uint32_t before = 0;
  for (const TokenSpan& span : spans) {
    EXPECT_LE(before, span.begin);
    EXPECT_LE(span.begin, span.end);
    EXPECT_LE(span.end, text.size());
    before = span.begin;
  }
}

std::string with_marks(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == ' ') {
      out += kMark;
    } else {
      out += c;
    }
  }
  return out;
}

// Viterbi as published. Score is float or double.
template <class Score>
class Reference {
 public:
  explicit Reference(const TokenizerSpec& spec) {
    Score lowest = 1e30F;
    for (size_t i = 0; i < spec.tokens.size(); ++i) {
      if (spec.kinds[i] != TokenKind::normal) continue;
      ids_.emplace(spec.tokens[i], std::pair(static_cast<Token>(i), spec.scores[i]));
      lowest = std::min<Score>(lowest, spec.scores[i]);
      longest_ = std::max(longest_, spec.tokens[i].size());
    }
    unknown_ = lowest - 10;
  }

  // Appends the ids of `text`; unknown characters in a row are one token.
  void encode(std::string_view text, std::vector<Token>& out) const {
    struct Way {
      Score score = 0;
      size_t begin = 0;
      Token id = -1;
    };
    std::vector<Way> ways(text.size() + 1);
    for (size_t at = 0; at < text.size();) {
      const size_t size = decode_utf8(text, at).size;
      if (sizeof(Score) == sizeof(float) && ways[at].score < -1e5F) {
        const Score worst = ways[at].score;
        for (size_t i = at; i <= std::min(text.size(), at + longest_); ++i) {
          if (i == at || ways[i].id >= 0) ways[i].score -= worst;
        }
      }
      const auto offer = [&](size_t end, Score score, Token id) {
        score = score + ways[at].score;
        if (ways[end].id < 0 || score > ways[end].score) ways[end] = {score, at, id};
      };
      bool single = false;
      for (size_t n = 1; n <= longest_ && at + n <= text.size(); ++n) {
        const auto found = ids_.find(std::string(text.substr(at, n)));
        if (found == ids_.end()) continue;
        offer(at + n, static_cast<Score>(found->second.second), found->second.first);
        single = single || n == size;
      }
      if (!single) offer(at + size, unknown_, 0);
      at += size;
    }
    std::vector<Token> ids;
    for (size_t end = text.size(); end > 0; end = ways[end].begin) ids.push_back(ways[end].id);
    bool after_unknown = false;
    for (auto id = ids.rbegin(); id != ids.rend(); ++id) {
      if (*id != 0 || !after_unknown) out.push_back(*id);
      after_unknown = *id == 0;
    }
  }

 private:
  std::map<std::string, std::pair<Token, float>> ids_;
  Score unknown_ = 0;
  size_t longest_ = 0;
};

std::string random_word(Rng& rng, std::string_view letters, size_t longest) {
  std::string word;
  for (uint64_t n = 1 + rng.below(longest); n > 0; --n) word += letters[rng.below(letters.size())];
  return word;
}

// Scores lie on a coarse grid so that many ways tie.
TokenizerSpec random_spec(Rng& rng, float scale, bool crossing) {
  std::map<std::string, float> pieces;
  for (int i = 0; i < 120; ++i) {
    std::string text = random_word(rng, crossing ? "abc " : "abc", 5);
    if (rng.below(3) == 0) text = " " + text;
    pieces[with_marks(text)] = -scale * static_cast<float>(1 + rng.below(40)) / 8;
  }
  pieces[std::string(kMark)] = -scale;
  return spec_of({pieces.begin(), pieces.end()});
}

std::string random_text(Rng& rng, size_t n_words) {
  std::string text;
  for (size_t i = 0; i < n_words; ++i) {
    if (i > 0) text += rng.below(12) == 0 ? "  " : " ";
    text += rng.below(30) == 0 ? "\u00E9\u4E2D" : random_word(rng, "aaabbbcd", 7);
  }
  return text;
}

TEST(Unigram, CutsWordsAsTokenizersPackage) {
  Rng rng(1);
  for (int i = 0; i < 300; ++i) {
    TokenizerSpec spec = random_spec(rng, 1.1F, false);
    spec.prefix_each_word = true;
    spec.splits = {{.regex = R"(\s+)", .behavior = SplitBehavior::removed}};
    const std::string text = random_text(rng, 1 + rng.below(30));
    std::vector<Token> expected;
    const Reference<double> reference(spec);
    for (size_t at = 0; at < text.size();) {
      const size_t end = std::min(text.find(' ', at), text.size());
      if (end > at) {
        reference.encode(std::string(kMark) + text.substr(at, end - at), expected);
      }
      at = end + 1;
    }
    const auto tokenizer = test_tokenizer(spec);
    EXPECT_EQ(test_ids(*tokenizer, text), expected) << text;
    expect_places(*tokenizer, text);
  }
}

TEST(Unigram, CutsRowsOfOneLetter) {
  Rng rng(7);
  for (int round = 0; round < 20; ++round) {
    const TokenizerSpec spec = random_spec(rng, 1, false);
    const auto tokenizer = test_tokenizer(spec);
    const Reference<float> reference(spec);
    for (int i = 0; i < 20; ++i) {
      std::string text;
      for (const char c : random_word(rng, "abcd", 6)) text.append(rng.below(30) + 1, c);
      std::vector<Token> want;
      reference.encode((spec.add_space_prefix ? std::string(kMark) : std::string()) + text, want);
      std::vector<Token> ids;
      tokenizer->encode(text, SpecialParsing::off, false, ids);
      EXPECT_EQ(ids, want) << text;
    }
  }
}

TEST(Unigram, SplitsBeforeEachSpace) {
  Rng rng(2);
  for (int i = 0; i < 300; ++i) {
    TokenizerSpec spec = random_spec(rng, 0.7F, i % 2 == 0);
    spec.split_at_spaces = true;
    spec.add_space_prefix = true;
    spec.prefix_if_missing = true;
    const std::string text = random_text(rng, 1 + rng.below(30));
    std::vector<Token> expected;
    const Reference<double> reference(spec);
    const std::string whole = text.starts_with(' ') ? text : " " + text;
    for (size_t at = 0; at < whole.size();) {
      const size_t end = std::min(whole.find(' ', at + 1), whole.size());
      reference.encode(with_marks(whole.substr(at, end - at)), expected);
      at = end;
    }
    const auto tokenizer = test_tokenizer(spec);
    EXPECT_EQ(test_ids(*tokenizer, text), expected) << text;
    expect_places(*tokenizer, text);
  }
}

// Rounding decides between ways more and more often as the total grows; large scores make that
// come early.
TEST(Unigram, AddsFloatsAsSentencepiece) {
  Rng rng(3);
  for (int i = 0; i < 64 / int{kTestShare}; ++i) {
    const float scale = std::exp2(static_cast<float>(rng.below(14))) * 1.01F;
    TokenizerSpec spec = random_spec(rng, scale, i % 3 == 0);
    spec.add_space_prefix = i % 2 == 0;
    const std::string text = random_text(rng, 1 + rng.below(3000));
    std::vector<Token> expected;
    const Reference<float> reference(spec);
    reference.encode((spec.add_space_prefix ? std::string(kMark) : "") + with_marks(text),
                     expected);
    const auto tokenizer = test_tokenizer(spec);
    EXPECT_EQ(test_ids(*tokenizer, text), expected) << i;
    EXPECT_EQ(test_ids(*tokenizer, text), expected) << i;  // with the words learnt
    if (i % 10 == 0) expect_places(*tokenizer, text);
  }
}

TEST(Unigram, NarrowsSpaces) {
  TokenizerSpec spec = spec_of({{"\u2581", -2}, {"a", -3}, {"b", -3}, {"\u2581a", -2.5F}});
  spec.add_space_prefix = true;
  spec.remove_extra_spaces = true;
  const auto tokenizer = test_tokenizer(spec);
  EXPECT_EQ(test_ids(*tokenizer, "  a   b a "), (std::vector<Token>{5, 2, 4, 5}));
  EXPECT_EQ(test_ids(*tokenizer, "   "), (std::vector<Token>{}));
  EXPECT_EQ(test_ids(*tokenizer, " a\u2581a"), (std::vector<Token>{5, 5}));
  expect_places(*tokenizer, "  a   b a \u2581");
}

TEST(Unigram, FallsBackToBytes) {
  TokenizerSpec spec = spec_of({{"a", -1}});
  spec.byte_fallback = true;
  for (int byte = 0; byte < 256; ++byte) {
    spec.tokens.push_back(fmt::format("<0x{:02X}>", byte));
    spec.kinds.push_back(TokenKind::byte);
    spec.scores.push_back(0);
  }
  const auto tokenizer = test_tokenizer(spec);
  const auto byte = [](int value) { return static_cast<Token>(3 + value); };
  const std::vector<Token> ids = {2, byte(0xC3), byte(0xA9), byte(0xFF), 2};
  EXPECT_EQ(test_ids(*tokenizer,
                     "a\u00E9\xFF"
                     "a"),
            ids);
  EXPECT_EQ(tokenizer->decode(ids, false),
            "a\u00E9\xFF"
            "a");
  std::vector<TokenSpan> spans;
  std::vector<Token> same;
  TokenSink sink(&same, &spans);
  const TextPart part{"a\u00E9a", SpecialParsing::off};
  tokenizer->encode_parts({&part, 1}, false, sink);
  EXPECT_EQ(spans, (std::vector<TokenSpan>{{0, 1}, {1, 3}, {1, 3}, {3, 4}}));
  // The text of a control token stays text, with or without the token's own characters.
  const std::vector<Token> control = test_ids(*tokenizer, "<s>");
  EXPECT_EQ(std::count(control.begin(), control.end(), 1), 0);
}

// A user-defined piece wins over any cut of its text.
TEST(Unigram, PrefersUserDefinedPieces) {
  TokenizerSpec spec = spec_of({{"a", -0.01F}, {"b", -0.01F}, {"ab", -9}});
  EXPECT_EQ(test_ids(*test_tokenizer(spec), "ab"), (std::vector<Token>{2, 3}));
  spec.kinds[4] = TokenKind::user_defined;
  EXPECT_EQ(test_ids(*test_tokenizer(spec), "bab"), (std::vector<Token>{3, 4}));
}

TEST(Unigram, RefusesScoresThatAreNone) {
  TokenizerSpec spec = spec_of({{"a", NAN}});
  EXPECT_FALSE(Tokenizer::create(spec).has_value());
  spec.scores.clear();
  EXPECT_FALSE(Tokenizer::create(spec).has_value());
}

}  // namespace
}  // namespace ruv::unigram_test
