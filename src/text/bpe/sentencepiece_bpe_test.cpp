// Cutting a text into words must not change its tokens: random vocabularies and texts, with broken
// UTF-8 among them, against merging each text as one word.
#include "text/bpe/sentencepiece_bpe.h"

#include <gtest/gtest.h>

#include <map>

#include "base/rng.h"
#include "base/test_share.h"
#include "base/utf8.h"
#include "text/bpe/symbol_merger.h"

namespace ruv {
namespace {

const std::vector<std::string> kKnown = {"a", "b", ".", "\u00E9", "\u65E5", "\u2581", "\n"};
const std::vector<std::string> kLetters = {"a",  "b", ".",      "\u00E9",     "\u65E5", " ",
                                           "\n", "?", "\u00E8", "\U0001F9D1", "\xFF",   "\xE6\x97"};

Token token_of(const TokenizerSpec& spec, const std::string& text) {
  for (size_t i = 0; i < spec.tokens.size(); ++i) {
    if (spec.tokens[i] == text && spec.kinds[i] == TokenKind::normal) return static_cast<Token>(i);
  }
  return -1;
}

void add_token(TokenizerSpec& spec, const std::string& text, TokenKind kind) {
  spec.tokens.push_back(text);
  spec.kinds.push_back(kind);
}

// Tokens that join others, few enough that many pairs of letters stand in none.
TokenizerSpec random_spec(Rng& rng, bool by_list) {
  TokenizerSpec spec;
  spec.kind = TokenizerKind::sentencepiece_bpe;
  add_token(spec, "<unk>", TokenKind::unknown);
  for (const std::string& letter : kKnown) {
    if (rng.below(8) != 0) add_token(spec, letter, TokenKind::normal);
  }
  if (spec.tokens.size() == 1) add_token(spec, "a", TokenKind::normal);
  for (uint64_t n = 1 + rng.below(30); n > 0; --n) {
    const std::string left = spec.tokens[1 + rng.below(spec.tokens.size() - 1)];
    const std::string right = spec.tokens[1 + rng.below(spec.tokens.size() - 1)];
    if (left.size() + right.size() > 24) continue;
    if (token_of(spec, left + right) < 0) add_token(spec, left + right, TokenKind::normal);
    if (by_list) spec.merges.push_back(left + " " + right);
  }
  if (!by_list && rng.below(3) == 0) add_token(spec, "a\U0001F9D1", TokenKind::normal);
  spec.byte_fallback = rng.below(2) == 0;
  spec.fuse_unknown = rng.below(2) == 0;
  if (rng.below(3) != 0) spec.unk = 0;
  for (int byte = 0; byte < 256; ++byte) {
    constexpr char kDigits[] = "0123456789ABCDEF";
    if (byte == 0xE8 && rng.below(2) == 0) continue;
    const std::string name = {'<', '0', 'x', kDigits[byte / 16], kDigits[byte % 16], '>'};
    add_token(spec, name, TokenKind::byte);
  }
  for (size_t i = 0; i < spec.tokens.size() && !by_list; ++i) {
    spec.scores.push_back(-static_cast<float>(rng.below(20)));
  }
  return spec;
}

// The rules of SentencePiece, written down once more and without a cut.
class WholeMerger {
 public:
  explicit WholeMerger(const TokenizerSpec& spec) : spec_(spec) {
    for (size_t i = 0; i < spec.merges.size(); ++i) ranks_.emplace(spec.merges[i], i);
  }

  std::vector<Token> encode(const std::string& text) {
    std::vector<Symbol> symbols;
    for (uint32_t i = 0; i < text.size();) {
      const uint32_t end = i + decode_utf8(text, i).size;
      symbols.push_back({i, end, token_of(spec_, stored(text.substr(i, end - i)))});
      i = end;
    }
    SymbolMerger().merge(symbols,
                         [&](const Symbol& l, const Symbol& r) { return merge_of(text, l, r); });
    std::vector<Token> ids;
    bool after_unknown = false;
    for (const Symbol& symbol : symbols) {
      const std::string one = text.substr(symbol.begin, symbol.end - symbol.begin);
      const std::vector<Token> bytes = bytes_of(one);
      const bool is_unknown = symbol.id < 0 && bytes.empty();
      if (symbol.id >= 0) ids.push_back(symbol.id);
      if (symbol.id < 0) ids.insert(ids.end(), bytes.begin(), bytes.end());
      if (is_unknown && spec_.unk && !(after_unknown && spec_.fuse_unknown)) {
        ids.push_back(*spec_.unk);
      }
      after_unknown = is_unknown;
    }
    return ids;
  }

 private:
  static std::string stored(const std::string& text) {
    std::string out;
    for (const char c : text) out += c == ' ' ? std::string("\u2581") : std::string(1, c);
    return out;
  }
  Merge merge_of(const std::string& text, const Symbol& left, const Symbol& right) const {
    const std::string a = stored(text.substr(left.begin, left.end - left.begin));
    const std::string b = stored(text.substr(right.begin, right.end - right.begin));
    const Token id = token_of(spec_, a + b);
    if (id < 0) return {};
    if (!spec_.scores.empty()) {
      return {static_cast<uint32_t>(-spec_.scores[static_cast<size_t>(id)]), id};
    }
    const auto found = ranks_.find(a + " " + b);
    if (found == ranks_.end()) return {};
    return {static_cast<uint32_t>(found->second), id};
  }
  // None when one is missing.
  std::vector<Token> bytes_of(const std::string& text) const {
    std::vector<Token> ids;
    for (const char c : text) {
      constexpr char kDigits[] = "0123456789ABCDEF";
      const auto byte = static_cast<uint8_t>(c);
      const std::string name = {'<', '0', 'x', kDigits[byte / 16], kDigits[byte % 16], '>'};
      const auto at = std::find(spec_.tokens.begin(), spec_.tokens.end(), name);
      if (at == spec_.tokens.end() || !spec_.byte_fallback) return {};
      ids.push_back(static_cast<Token>(at - spec_.tokens.begin()));
    }
    return ids;
  }

  const TokenizerSpec& spec_;
  std::map<std::string, size_t> ranks_;
};

TEST(SentencePieceBpe, WordsHaveTheTokensOfTheWholeText) {
  Rng rng(31);
  for (int round = 0; round < 320 / int{kTestShare}; ++round) {
    const TokenizerSpec spec = random_spec(rng, round % 2 == 0);
    auto tokenizer = SentencePieceBpe::create(spec);
    ASSERT_TRUE(tokenizer.has_value()) << tokenizer.error().message();
    WholeMerger merger(spec);
    for (int i = 0; i < 20; ++i) {
      std::string text;
      for (uint64_t n = 1 + rng.below(i == 0 ? 400 : 40); n > 0; --n) {
        text += kLetters[rng.below(kLetters.size())];
      }
      std::vector<Token> ids;
      (*tokenizer)->encode(text, SpecialParsing::off, false, ids);
      ASSERT_EQ(ids, merger.encode(text)) << "round " << round << ": " << text;
    }
  }
}

// More words than one stretch of them holds, and a last one that ends with the text.
TEST(SentencePieceBpe, ManyWordsInALongText) {
  TokenizerSpec spec;
  spec.kind = TokenizerKind::sentencepiece_bpe;
  for (const char* text : {"a", "b", "aa", "bb", "aaaa"}) {
    add_token(spec, text, TokenKind::normal);
    spec.scores.push_back(-static_cast<float>(spec.scores.size()));
  }
  const auto tokenizer = SentencePieceBpe::create(spec);
  ASSERT_TRUE(tokenizer.has_value());
  for (const size_t n : {1, 63, 64, 65, 1023, 1024, 1025, 5000}) {
    std::string text;
    for (size_t i = 0; i < n; ++i) text += i % 2 == 0 ? "aaa" : "b";
    std::vector<Token> expected;
    for (size_t i = 0; i < n; ++i) {
      if (i % 2 == 0) expected.insert(expected.end(), {2, 0});
      if (i % 2 == 1) expected.push_back(1);
    }
    std::vector<Token> ids;
    (*tokenizer)->encode(text, SpecialParsing::off, false, ids);
    EXPECT_EQ(ids, expected) << n;
  }
}

}  // namespace
}  // namespace ruv
