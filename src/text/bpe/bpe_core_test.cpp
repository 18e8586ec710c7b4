// Every way to the tokens of a word against merging itself, on vocabularies of every sort: trained
// ones, several merges for a token, merges in an order no training gives, scores with ties, tokens
// that nothing makes.
#include "text/bpe/bpe_core.h"

#include <gtest/gtest.h>

#include <set>
#include <thread>

#include "base/rng.h"
#include "base/test_share.h"
#include "base/utf8.h"

namespace ruv::bpe_core_test {
namespace {

struct SmallBpe {
  std::vector<std::string> texts;
  std::vector<std::pair<size_t, size_t>> merges;  // ids of the sides
  BpeSymbols symbols = BpeSymbols::bytes;
};

// Letters are short texts: one byte each, or characters of several.
SmallBpe letters_of(std::vector<std::string> letters, BpeSymbols symbols) {
  return {std::move(letters), {}, symbols};
}

size_t id_of(SmallBpe& bpe, const std::string& text) {
  for (size_t i = 0; i < bpe.texts.size(); ++i) {
    if (bpe.texts[i] == text) return i;
  }
  bpe.texts.push_back(text);
  return bpe.texts.size() - 1;
}

// Merges of tokens there are; each result is a token the first time.
void add_random_merges(SmallBpe& bpe, Rng& rng, int n, size_t max_size) {
  for (; n > 0; --n) {
    const size_t left = rng.below(bpe.texts.size());
    const size_t right = rng.below(bpe.texts.size());
    const std::string joined = bpe.texts[left] + bpe.texts[right];
    if (joined.size() > max_size) continue;
    id_of(bpe, joined);
    bpe.merges.emplace_back(left, right);
  }
}

// The merges of all splits of each token, in the order of tokens, as converters of rank files do.
void add_all_splits(SmallBpe& bpe) {
  bpe.merges.clear();
  const std::vector<std::string>& texts = bpe.texts;
  for (const std::string& text : texts) {
    for (size_t cut = 1; cut < text.size(); ++cut) {
      const auto left = std::find(texts.begin(), texts.end(), text.substr(0, cut));
      const auto right = std::find(texts.begin(), texts.end(), text.substr(cut));
      if (left == texts.end() || right == texts.end()) continue;
      bpe.merges.emplace_back(left - texts.begin(), right - texts.begin());
    }
  }
}

void shuffle(std::vector<std::pair<size_t, size_t>>& merges, Rng& rng) {
  for (size_t i = merges.size(); i > 1; --i) std::swap(merges[i - 1], merges[rng.below(i)]);
}

std::unique_ptr<BpeCore> made(const SmallBpe& bpe, MergeTrees::Rules rules,
                              BpeCore::Options options = {}) {
  Vocabulary vocabulary;
  for (const std::string& text : bpe.texts) vocabulary.add(text, true);
  vocabulary.finish();
  options.symbols = bpe.symbols;
  return std::make_unique<BpeCore>(std::move(vocabulary), std::move(rules), options);
}

MergeTrees::Rules by_list(SmallBpe& bpe) {
  PairTable pairs(bpe.merges.size());
  uint32_t rank = 0;
  for (const auto& [left, right] : bpe.merges) {
    const size_t joined = id_of(bpe, bpe.texts[left] + bpe.texts[right]);
    pairs.add(static_cast<Token>(left), static_cast<Token>(right),
              {rank++, static_cast<Token>(joined)});
  }
  return {.by_text = false, .pairs = std::move(pairs), .ranks = {}};
}

MergeTrees::Rules by_text(const SmallBpe& bpe, Rng& rng, uint64_t n_ranks) {
  MergeTrees::Rules rules{.by_text = true, .pairs = PairTable(), .ranks = {}};
  for (size_t i = 0; i < bpe.texts.size() && n_ranks > 0; ++i) {
    rules.ranks.push_back(static_cast<uint32_t>(rng.below(n_ranks)));
  }
  return rules;
}

struct Encoded {
  std::vector<Token> ids;
  std::vector<TokenSpan> spans;
  size_t n_tokens = 0;
  bool operator==(const Encoded&) const = default;
};

void expect_as_merged(const BpeCore& core, std::string_view text, const std::vector<Word>& words) {
  Encoded merged;
  Encoded encoded;
  BpeCore::Lease one(core);
  TokenSink merged_sink(&merged.ids, &merged.spans);
  for (const Word& word : words) {
    core.merge_word(text.substr(word.begin, word.end - word.begin), *one, merged_sink);
  }
  one->after_unknown = false;
  TokenSink sink(&encoded.ids, &encoded.spans);
  core.encode_words(text, words, *one, sink);
  ASSERT_EQ(encoded.ids, merged.ids) << text;
  EXPECT_EQ(encoded.spans, merged.spans) << text;
  one->after_unknown = false;
  std::vector<Token> plain;
  TokenSink plain_sink(&plain);
  core.encode_words(text, words, *one, plain_sink);
  EXPECT_EQ(plain, merged.ids);
  one->after_unknown = false;
  TokenSink counter(nullptr);
  core.encode_words(text, words, *one, counter);
  EXPECT_EQ(counter.n_tokens(), merged.ids.size());
}

void expect_as_merged(const BpeCore& core, const std::vector<std::string>& letters, Rng& rng) {
  for (int round = 0; round < 40; ++round) {
    const size_t max_letters = round % 10 == 0 ? 2000 : round % 3 == 0 ? 100 : 12;
    std::string text;
    std::vector<Word> words;
    for (uint64_t n_words = 1 + rng.below(80); n_words > 0; --n_words) {
      const size_t begin = text.size();
      for (uint64_t n = 1 + rng.below(max_letters); n > 0; --n) {
        text += letters[rng.below(letters.size())];
      }
      words.push_back({static_cast<uint32_t>(begin), static_cast<uint32_t>(text.size())});
      if (text.size() > 5000) break;
    }
    expect_as_merged(core, text, words);
    if (testing::Test::HasFatalFailure()) return;
  }
}

const std::vector<std::string> kLetters[] = {
    {"a"}, {"a", "b"}, {"a", "b", "c"}, {"a", "b", "c", "d", "e", "f", "g"}};

TEST(BpeCore, RandomMergesInAnyOrder) {
  Rng rng(21);
  for (size_t round = 0; round < 60 / kTestShare; ++round) {
    const auto& letters = kLetters[rng.below(std::size(kLetters))];
    SmallBpe bpe = letters_of(letters, BpeSymbols::bytes);
    add_random_merges(bpe, rng, static_cast<int>(1 + rng.below(60)), 1 + rng.below(40));
    if (round % 3 == 1) add_all_splits(bpe);
    if (round % 4 == 3) shuffle(bpe.merges, rng);
    if (round % 5 == 4) bpe.texts.push_back("abcabcabc");
    MergeTrees::Rules rules = by_list(bpe);
    const BpeCore::Options options{.take_whole_words = false};
    expect_as_merged(*made(bpe, std::move(rules), options), letters, rng);
    ASSERT_FALSE(HasFatalFailure()) << "round " << round;
  }
}

TEST(BpeCore, ResultsByTextInTheOrderOfIdsOrScores) {
  Rng rng(22);
  for (size_t round = 0; round < 60 / kTestShare; ++round) {
    const auto& letters = kLetters[rng.below(std::size(kLetters))];
    SmallBpe bpe = letters_of(letters, BpeSymbols::bytes);
    add_random_merges(bpe, rng, static_cast<int>(1 + rng.below(40)), 1 + rng.below(30));
    if (round % 4 == 0) id_of(bpe, "abcdabcdabc");
    MergeTrees::Rules rules = by_text(bpe, rng, round % 3 == 0 ? 0 : 1 + rng.below(100));
    expect_as_merged(*made(bpe, std::move(rules)), letters, rng);
    ASSERT_FALSE(HasFatalFailure()) << "round " << round;
  }
}

TEST(BpeCore, CharactersUnknownOnesAndPartsOfTokens) {
  Rng rng(23);
  const std::vector<std::string> letters = {"a", "\u00E9", "\u65E5", "\U0001F9D1", " ", "\xFF"};
  for (size_t round = 0; round < 80 / kTestShare; ++round) {
    SmallBpe bpe = letters_of({"a", "\u00E9", "\u65E5", " "}, BpeSymbols::characters);
    add_random_merges(bpe, rng, static_cast<int>(1 + rng.below(40)), 1 + rng.below(40));
    if (round % 4 == 0) id_of(bpe, "a\U0001F9D1");
    if (round % 4 == 1) id_of(bpe, "\u65E5\U0001F9D1a");
    if (round % 8 == 2) id_of(bpe, "\xE6");
    if (round % 8 == 3) id_of(bpe, "a\xFF");
    MergeTrees::Rules rules = round % 2 == 0 ? by_list(bpe) : by_text(bpe, rng, 1 + rng.below(50));
    BpeCore::Options options;
    options.fallback_bytes.fill(-1);
    if (round % 3 == 0) {
      for (int byte = 0; byte < 256; ++byte) {
        options.fallback_bytes[static_cast<size_t>(byte)] = static_cast<Token>(bpe.texts.size());
        bpe.texts.push_back(std::string(1, '\xC0'));
      }
    }
    if (round % 5 != 0) {
      options.unknown = static_cast<Token>(bpe.texts.size());
      bpe.texts.push_back("<unknown>");
      options.fuse_unknown = round % 2 == 0;
    }
    if (rules.by_text && !rules.ranks.empty()) rules.ranks.resize(bpe.texts.size(), 1000);
    expect_as_merged(*made(bpe, std::move(rules), options), letters, rng);
    ASSERT_FALSE(HasFatalFailure()) << "round " << round;
  }
}

TEST(BpeCore, BytesWithoutATokenAreUnknownOrNothing) {
  Rng rng(24);
  for (const Token unknown : {-1, 2}) {
    SmallBpe bpe = letters_of({"a", "b", "<unknown>"}, BpeSymbols::bytes);
    bpe.merges = {{0, 1}};
    MergeTrees::Rules rules = by_list(bpe);
    const auto core = made(bpe, std::move(rules), {.unknown = unknown});
    std::vector<Token> ids;
    std::vector<TokenSpan> spans;
    TokenSink sink(&ids, &spans);
    BpeCore::Lease scratch(*core);
    const std::vector<Word> words = {{0, 5}, {5, 7}};
    core->encode_words("ababcab", words, *scratch, sink);
    EXPECT_EQ(ids.front(), 3);
    EXPECT_EQ(ids.size(), unknown < 0 ? 3U : 4U);
    EXPECT_EQ(spans.back(), (TokenSpan{5, 7}));
    expect_as_merged(*core, {"a", "b", "c"}, rng);
  }
}

TEST(BpeCore, WholeWordsAreTakenOnRequest) {
  SmallBpe bpe = letters_of({"x", "y", "z", "xyz"}, BpeSymbols::bytes);
  bpe.merges = {{0, 1}};
  for (const bool whole : {false, true}) {
    MergeTrees::Rules rules = by_list(bpe);
    const auto core = made(bpe, std::move(rules), {.take_whole_words = whole});
    std::vector<Token> ids;
    TokenSink sink(&ids);
    BpeCore::Lease scratch(*core);
    const std::vector<Word> words = {{0, 3}, {3, 6}};
    core->encode_words("xyzxyz", words, *scratch, sink);
    EXPECT_EQ(ids, whole ? (std::vector<Token>{3, 3}) : (std::vector<Token>{4, 2, 4, 2}));
  }
}

// A token is made exactly when merging its text gives it; odd orders may make more.
TEST(MergeTrees, MadeTokensAreThoseThatMergingGives) {
  Rng rng(25);
  for (size_t round = 0; round < 60 / kTestShare; ++round) {
    SmallBpe bpe = letters_of({"a", "b", "c"}, BpeSymbols::bytes);
    add_random_merges(bpe, rng, 40, 20);
    const bool trained = round % 2 == 0;
    if (trained) add_all_splits(bpe);
    MergeTrees::Rules rules = by_list(bpe);
    MergeTrees::Rules same = rules;
    const auto core = made(bpe, std::move(rules));
    const MergeTrees trees(core->vocabulary(), BpeSymbols::bytes, std::move(same));
    for (size_t i = 0; i < bpe.texts.size(); ++i) {
      std::vector<Token> ids;
      TokenSink sink(&ids);
      BpeCore::Lease scratch(*core);
      core->merge_word(bpe.texts[i], *scratch, sink);
      const bool made_alone = ids == std::vector<Token>{static_cast<Token>(i)};
      EXPECT_TRUE(made_alone || !trees.is_made(static_cast<Token>(i)));
    }
  }
}

TEST(BpeCore, ThreadsAgree) {
  Rng rng(26);
  SmallBpe bpe = letters_of({"a", "b", "c", "d"}, BpeSymbols::bytes);
  add_random_merges(bpe, rng, 300, 30);
  MergeTrees::Rules rules = by_list(bpe);
  const auto core = made(bpe, std::move(rules));
  std::string text;
  std::vector<Word> words;
  while (text.size() < 20000) {
    const size_t begin = text.size();
    for (uint64_t n = 1 + rng.below(20); n > 0; --n) text += "abcd"[rng.below(4)];
    words.push_back({static_cast<uint32_t>(begin), static_cast<uint32_t>(text.size())});
  }
  std::vector<std::vector<Token>> results(4);
  std::vector<std::thread> threads;
  for (std::vector<Token>& ids : results) {
    threads.emplace_back([&] {
      BpeCore::Lease scratch(*core);
      TokenSink sink(&ids);
      core->encode_words(text, words, *scratch, sink);
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::vector<Token>& ids : results) EXPECT_EQ(ids, results[0]);
  expect_as_merged(*core, text, words);
}

}  // namespace
}  // namespace ruv::bpe_core_test
