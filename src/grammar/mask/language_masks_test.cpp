// Masks beside a plain recogniser that is run on every token's bytes.
#include "grammar/mask/language_masks.h"

#include <gtest/gtest.h>

#include <set>

#include "base/rng.h"
#include "grammar/regex/pattern_language.h"
#include "text/test_vocabularies.h"

namespace ruv::language_masks_test {
namespace {

// Pieces of one to four bytes of these texts, whole characters or not.
std::shared_ptr<const Tokenizer> random_vocabulary(Rng& rng) {
  const std::string letters = "ab0 -é\n中😀.ab";
  TokenizerSpec spec = byte_test_spec({});
  std::set<std::string> taken(spec.tokens.begin(), spec.tokens.end());
  for (int i = 0; i < 120; ++i) {
    const size_t at = rng.below(letters.size() - 1);
    std::string piece = letters.substr(at, 1 + rng.below(5));
    if (rng.below(2) == 0) piece += letters.substr(rng.below(letters.size() - 1), 1 + rng.below(3));
    if (taken.insert(to_byte_alphabet(piece)).second) {
      add_test_token(spec, to_byte_alphabet(piece), TokenKind::normal);
    }
  }
  return test_tokenizer(spec);
}

Language read(Languages& languages, std::string_view text) {
  const auto pattern = read_pattern(text, {.operators = true});
  EXPECT_TRUE(pattern);
  const auto made = language_of(languages, *pattern, Utf8Alphabet(), PatternMatch::whole);
  EXPECT_TRUE(made);
  return *made;
}

constexpr std::string_view kPatterns[] = {
    "[ab]{2,9}",      "(a|b0)*é?",         ".*",          "[^a]+中",    "(?!ab)[ab0 ]{3,8}",
    "a*&~(aa)",       "\\p{L}{1,3}-\\d+",  "(😀|é){0,40}", "0?b{1,}\\.", "~(.*ab.*)&.{2,12}",
    "(ab|ab0|ab0 )+", "[é-中]+(a|[^\\w]b)"};

// With a limit of length, after which a line ends.
constexpr std::string_view kLimited[] = {
    "((a|b0)*é?[^b]*&[^\\n]{3,29})\\n", "(~([^\\n]*ab[^\\n]*)&[^\\n]{0,40})\\n",
    "([a-zA-Z0 .-]{2,30}&[^\\n]{5,25})\\n", "([^\\n]{0,29}&[^\\n]{3,40}&[^\\n]*a[^\\n]*)\\n",
    "([^a\\n]*(a[^b\\n]*b)+&[^\\n]{9,24})\\n"};

// Runs without texts that begin in few ways, finitely many or not.
constexpr std::string_view kExcluded[] = {"([^\\n]*&~(ab[^\\n]*))\\n", "([^\\n]*&~(ab|b0|0))\\n",
                                          "([^\\n]*&~(a[b0]+|é[^a\\n]*))\\n",
                                          "[^\\n]*&~((a|中)b.*)"};

struct Found {
  size_t n_masks = 0;
  size_t n_excluded = 0;  // found from a base without tokens that are few
  size_t n_limited = 0;   // found from a language without the limit
};

// Compares the masks along random texts with a recogniser that reads every token.
Found compare_masks(std::span<const std::string_view> patterns) {
  Found found;
  for (uint64_t seed = 0; seed < 20; ++seed) {
    Rng rng(seed);
    const auto tokenizer = random_vocabulary(rng);
    const TokenPrefixes prefixes(*tokenizer);
    const TokenTrie trie(prefixes, tokenizer->vocab_size());
    for (const std::string_view pattern : patterns) {
      Languages languages(1 << 18);
      Languages plain(1 << 18);
      LanguageMasks masks(languages, trie, prefixes, 1000);
      Language at = read(languages, pattern);
      Language plain_at = read(plain, pattern);
      for (int step = 0; step < 12; ++step, ++found.n_masks) {
        TokenMask mask(tokenizer->vocab_size());
        const auto tokens = masks.tokens(at);
        tokens->add_to(mask);
        found.n_limited += tokens->base && tokens->runs && languages.intersection_of(at);
        found.n_excluded += tokens->base && !tokens->removed.empty() && !tokens->runs;
        std::vector<Token> allowed;
        for (Token id = 0; id < tokenizer->vocab_size(); ++id) {
          const std::string_view bytes = prefixes.bytes(id);
          const bool fits = !bytes.empty() && !plain.is_nothing(plain.after(plain_at, bytes));
          EXPECT_EQ(mask.has(id), fits) << pattern << " step " << step << " '" << bytes << "'";
          if (testing::Test::HasFailure()) return found;
          if (fits) allowed.push_back(id);
        }
        if (allowed.empty()) break;
        const std::string_view bytes = prefixes.bytes(allowed[rng.below(allowed.size())]);
        at = masks.after(at, bytes);
        plain_at = plain.after(plain_at, bytes);
      }
    }
  }
  return found;
}

TEST(LanguageMasks, AreThoseOfAPlainRecogniser) {
  EXPECT_GT(compare_masks(kPatterns).n_masks, 1500U);
}

TEST(LanguageMasks, AreThoseOfAPlainRecogniserUnderLimitsOfLength) {
  const Found found = compare_masks(kLimited);
  EXPECT_GT(found.n_masks, 800U);
  EXPECT_GT(found.n_limited, 100U);
}

TEST(LanguageMasks, AreThoseOfAPlainRecogniserWhereTextsAreTakenAway) {
  const Found found = compare_masks(kExcluded);
  EXPECT_GT(found.n_masks, 500U);
  EXPECT_GT(found.n_excluded, 20U);
}

TEST(TokenTrie, FindsChildrenByTheirByte) {
  Rng rng(4);
  const auto tokenizer = random_vocabulary(rng);
  const TokenPrefixes prefixes(*tokenizer);
  const TokenTrie trie(prefixes, tokenizer->vocab_size());
  size_t n_wide = 0;
  for (uint32_t i = 0; i < trie.nodes().size(); ++i) {
    n_wide += trie.nodes()[i].is_wide;
    std::array<uint32_t, 256> children = {};
    for (uint32_t at = i + 1; at < trie.nodes()[i].end; at = trie.nodes()[at].end) {
      children[trie.nodes()[at].byte] = at;
    }
    for (unsigned byte = 0; byte < 256; ++byte) {
      EXPECT_EQ(trie.child(i, static_cast<uint8_t>(byte)), children[byte]);
    }
  }
  EXPECT_GT(n_wide, 0U);
}

TEST(TokenTrie, HoldsEachTokenOnceAtItsBytes) {
  Rng rng(3);
  const auto tokenizer = random_vocabulary(rng);
  const TokenPrefixes prefixes(*tokenizer);
  const TokenTrie trie(prefixes, tokenizer->vocab_size());
  std::vector<std::string> path = {""};
  std::vector<uint32_t> ends = {static_cast<uint32_t>(trie.nodes().size())};
  size_t n_tokens = 0;
  for (uint32_t i = 1; i < trie.nodes().size(); ++i) {
    while (i == ends.back()) {
      ends.pop_back();
      path.pop_back();
    }
    const TokenTrie::Node& node = trie.nodes()[i];
    path.push_back(path.back() + static_cast<char>(node.byte));
    ends.push_back(node.end);
    for (const Token id : trie.tokens(node)) EXPECT_EQ(prefixes.bytes(id), path.back());
    n_tokens += node.n_tokens;
  }
  size_t wanted = 0;
  for (Token id = 0; id < tokenizer->vocab_size(); ++id) wanted += prefixes.contains(id);
  EXPECT_EQ(n_tokens, wanted);
}

}  // namespace
}  // namespace ruv::language_masks_test
