// The rule against all continuations of a small alphabet, and the mask against every token.
#include "text/healing.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "base/rng.h"
#include "base/test_share.h"
#include "text/test_vocabularies.h"

namespace ruv::healing_test {
namespace {

// The prefix of a text that is healed, its first token kept.
std::string prefix_of(const Tokenizer& tokenizer, const std::string& text, size_t n_fixed = 0) {
  const TokenPrefixes prefixes(tokenizer);
  return heal_prompt(tokenizer, prefixes, test_ids(tokenizer, text), n_fixed).prefix;
}

TEST(Healing, TakesBackWhatALongerTokenCouldReplace) {
  const auto tokenizer =
      test_tokenizer(byte_test_spec({"Ġ t", "i m", "Ġt im", "Ġtim e", "Ġ i", "Ġi s"}));
  EXPECT_EQ(prefix_of(*tokenizer, "It tim"), " tim");
  EXPECT_EQ(prefix_of(*tokenizer, "It t"), " t");
  EXPECT_EQ(prefix_of(*tokenizer, "It "), " ");
  EXPECT_EQ(prefix_of(*tokenizer, "It ti"), " ti");  // two tokens: " t", "i"
}

TEST(Healing, LeavesWhatNoTokenContinues) {
  const auto tokenizer = test_tokenizer(byte_test_spec({"Ġ t", "i m", "Ġt im", "Ġtim e"}));
  EXPECT_EQ(prefix_of(*tokenizer, "It time"), "");
  EXPECT_EQ(prefix_of(*tokenizer, "It tim."), "");
  EXPECT_EQ(prefix_of(*tokenizer, "It x"), "");
  // "e" begins no token, "im" does, but never after " t".
  EXPECT_EQ(prefix_of(*tokenizer, "xe"), "");
}

TEST(Healing, BordersOfWordsMoveToo) {
  // "'" alone, but "'s" is a word of its own; of spaces the last belongs to the next word.
  const auto tokenizer = test_tokenizer(byte_test_spec({"Ġ Ġ", "ĠĠ Ġ", "' s", "Ġ a"}));
  EXPECT_EQ(prefix_of(*tokenizer, "x don'"), "'");
  EXPECT_EQ(prefix_of(*tokenizer, "x  "), "  ");
  EXPECT_EQ(prefix_of(*tokenizer, "x   "), "   ");
}

TEST(Healing, KeepsControlAddedFixedAndFirstTokens) {
  const auto tokenizer = test_tokenizer(byte_test_spec({"a b", "ab c"}));
  const TokenPrefixes prefixes(*tokenizer);
  const Token bos = *tokenizer->spec().bos;
  const Token tool = bos + 2;
  const auto n_kept = [&](const std::vector<Token>& ids, size_t n_fixed) {
    return heal_prompt(*tokenizer, prefixes, ids, n_fixed).n_kept;
  };
  EXPECT_EQ(n_kept({bos, 'a'}, 0), 1U);
  EXPECT_EQ(n_kept({bos, 'a'}, 2), 2U);
  EXPECT_EQ(n_kept({'x', tool}, 0), 2U);
  EXPECT_EQ(n_kept({'x', 'a', bos}, 0), 3U);
  EXPECT_EQ(n_kept({'a'}, 0), 1U);  // one token must be computed
  EXPECT_EQ(n_kept({}, 0), 0U);
  EXPECT_EQ(n_kept({'x', 'a', 'b'}, 0), 1U);  // not as the tokenizer cuts it
  EXPECT_EQ(n_kept({'x', 'a', 'b'}, 2), 2U);
}

TEST(Healing, AtMostEightTokens) {
  std::string all(40, 'a');
  TokenizerSpec spec = byte_test_spec({});
  add_test_added(spec, {.text = all});
  const auto tokenizer = test_tokenizer(spec);
  EXPECT_EQ(prefix_of(*tokenizer, all.substr(0, 39)).size(), 8U);
}

TEST(Healing, PiecesWithTheirOwnSpaceAndBytes) {
  const auto tokenizer = test_tokenizer(
      piece_test_spec({"▁t", "▁", "t", "i", "m", "e", "im", "▁tim", "▁time", "日本", "本", "x"}));
  EXPECT_EQ(prefix_of(*tokenizer, "x tim"), " tim");
  EXPECT_EQ(prefix_of(*tokenizer, "x time"), "");
  EXPECT_EQ(prefix_of(*tokenizer, "x日"), "日");  // three byte tokens
  EXPECT_EQ(prefix_of(*tokenizer, "x日本"), "");
  // The space before the first word is the tokenizer's own; its first token stays.
  const TokenPrefixes prefixes(*tokenizer);
  std::vector<Token> ids = tokenizer->encode_prompt("tim", SpecialParsing::off);
  ids.insert(ids.begin(), *tokenizer->spec().bos);
  EXPECT_EQ(heal_prompt(*tokenizer, prefixes, ids, 0).prefix, " tim");
}

// Random vocabularies over three letters: the tokens kept are those shared by all continuations of
// up to five letters. More taken back is safe but counted.
struct Agreement {
  int same = 0;
  int more = 0;
};

void compare_with_all(const Tokenizer& tokenizer, const std::string& text,
                      const std::vector<std::string>& continuations, Agreement& agreement) {
  const TokenPrefixes prefixes(tokenizer);
  const std::vector<Token> ids = test_ids(tokenizer, text);
  size_t stable = ids.size();
  for (const std::string& continuation : continuations) {
    const std::vector<Token> longer = test_ids(tokenizer, text + continuation);
    const auto n = static_cast<std::ptrdiff_t>(std::min(stable, longer.size()));
    stable = static_cast<size_t>(std::mismatch(ids.begin(), ids.begin() + n, longer.begin()).first -
                                 ids.begin());
  }
  const size_t n_kept = heal_prompt(tokenizer, prefixes, ids, 0).n_kept;
  const size_t wanted = std::max({stable, size_t{1}, ids.size() - std::min<size_t>(8, ids.size())});
  ASSERT_LE(n_kept, wanted) << "'" << text << "'";
  ++(n_kept == wanted ? agreement.same : agreement.more);
}

std::vector<std::string> all_texts(std::string_view letters, size_t longest) {
  std::vector<std::string> texts{""};
  for (size_t i = 0; i < texts.size(); ++i) {
    if (texts[i].size() == longest) continue;
    for (const char c : letters) texts.push_back(texts[i] + c);
  }
  return texts;
}

std::string random_text(Rng& rng, std::string_view letters, size_t n) {
  std::string text;
  while (text.size() < n) text += letters[rng.below(letters.size())];
  return text;
}

// Merges whose parts are letters or results of merges before them.
std::vector<std::string> random_merges(Rng& rng, std::vector<std::string> parts, int n) {
  std::vector<std::string> merges;
  for (int i = 0; i < n; ++i) {
    const std::string left = parts[rng.below(parts.size())];
    const std::string right = parts[rng.below(parts.size())];
    if (std::ranges::find(parts, left + right) != parts.end()) continue;
    parts.push_back(left + right);
    merges.push_back(left + " " + right);
  }
  return merges;
}

TEST(Healing, IsWhatAllContinuationsShare) {
  const std::vector<std::string> continuations = all_texts("ab ", 5);
  Agreement bytes;
  Agreement pieces;
  for (uint64_t seed = 0; seed < 64 / kTestShare; ++seed) {
    Rng rng(seed);
    const auto bpe = test_tokenizer(byte_test_spec(random_merges(rng, {"a", "b", "Ġ"}, 12)));
    std::vector<std::string> list{"a", "b", "▁"};
    for (const std::string& merge : random_merges(rng, list, 12)) {
      std::string piece = merge;
      piece.erase(piece.find(' '), 1);
      list.push_back(piece);
    }
    const auto spm = test_tokenizer(piece_test_spec(list));
    for (int i = 0; i < 6; ++i) {
      const std::string text = random_text(rng, "ab ", 3 + rng.below(12));
      compare_with_all(*bpe, text, continuations, bytes);
      compare_with_all(*spm, text, continuations, pieces);
    }
  }
  EXPECT_GE(bytes.same, 0.95 * (bytes.same + bytes.more));
  EXPECT_GE(pieces.same, 0.95 * (pieces.same + pieces.more));
}

TEST(ForcedPrefix, LeavesExactlyTheTokensThatFit) {
  const auto tokenizer = test_tokenizer(byte_test_spec({"a b", "ab c", "abc d", "b c", "a x"}));
  const TokenPrefixes prefixes(*tokenizer);
  for (const std::string left : {"a", "ab", "abc", "abcde", "q", "<to"}) {
    const ForcedPrefix prefix(prefixes, left);
    TokenMask mask(tokenizer->vocab_size());
    ASSERT_TRUE(prefix.allow(mask).ok());
    for (Token id = 0; id < tokenizer->vocab_size(); ++id) {
      const std::string bytes = tokenizer->token_bytes(id, false);
      const bool fits = !tokenizer->is_control(id) && !bytes.empty() &&
                        (bytes.starts_with(left) || left.starts_with(bytes));
      EXPECT_EQ(mask.has(id), fits) << left << " " << bytes;
      EXPECT_EQ(prefix.allows(id), fits) << left << " " << bytes;
    }
  }
}

TEST(ForcedPrefix, EndsWhereTheBytesEnd) {
  const auto tokenizer = test_tokenizer(byte_test_spec({"a b", "c d"}));
  const TokenPrefixes prefixes(*tokenizer);
  ForcedPrefix prefix(prefixes, "abc");
  prefix.accept(256);
  EXPECT_FALSE(prefix.done());
  const std::unique_ptr<TokenConstraint> ahead = prefix.clone();
  ahead->accept(257);  // "cd" has one byte more than is forced
  EXPECT_TRUE(ahead->done());
  EXPECT_FALSE(prefix.done());
}

// Whatever is chosen among the allowed tokens, the bytes come out and there is always a choice.
TEST(ForcedPrefix, AnyPathReproducesTheBytes) {
  const auto bpe = test_tokenizer(byte_test_spec({"Ġ t", "i m", "Ġt im", "Ġtim e", "Ã ©", "e s"}));
  const auto spm =
      test_tokenizer(piece_test_spec({"▁t", "▁", "ti", "m", "▁tim", "▁time", "日本", "é"}));
  for (const auto& tokenizer : {bpe, spm}) {
    const TokenPrefixes prefixes(*tokenizer);
    for (uint64_t seed = 0; seed < 300; ++seed) {
      Rng rng(seed);
      const std::string bytes = std::string(" tim\u00e9 日本 times").substr(rng.below(8));
      ForcedPrefix prefix(prefixes, bytes);
      std::string out;
      while (!prefix.done()) {
        std::vector<float> logits(static_cast<size_t>(tokenizer->vocab_size()));
        for (float& logit : logits) logit = static_cast<float>(rng.uniform());
        TokenMask mask(tokenizer->vocab_size());
        ASSERT_TRUE(prefix.allow(mask).ok());
        mask.apply(logits);
        const auto best = std::ranges::max_element(logits);
        ASSERT_GE(*best, 0);
        const auto id = static_cast<Token>(best - logits.begin());
        out += tokenizer->token_bytes(id, false);
        prefix.accept(id);
      }
      EXPECT_TRUE(out.starts_with(bytes)) << out;
    }
  }
}

}  // namespace
}  // namespace ruv::healing_test
