#include "text/wordpiece.h"

#include <gtest/gtest.h>

#include <set>

#include "base/file.h"
#include "base/json.h"
#include "base/rng.h"
#include "base/utf8.h"
#include "text/normalize/char_sets.h"
#include "text/normalize/normalizer.h"
#include "text/split/schemes.h"
#include "text/test_vocabularies.h"

namespace ruv {
namespace {

TokenizerSpec spec_of(const std::vector<std::string>& pieces) {
  TokenizerSpec spec;
  spec.kind = TokenizerKind::wordpiece;
  spec.tokens = {"[UNK]", "[CLS]"};
  spec.kinds = {TokenKind::unknown, TokenKind::control};
  spec.unk = 0;
  for (const std::string& piece : pieces) {
    spec.tokens.push_back(piece);
    spec.kinds.push_back(TokenKind::normal);
  }
  return spec;
}

Token find(const TokenizerSpec& spec, const std::string& text) {
  const auto found = std::find(spec.tokens.begin() + 2, spec.tokens.end(), text);
  return found == spec.tokens.end() ? -1 : static_cast<Token>(found - spec.tokens.begin());
}

// The rule as published, one substring after another.
std::vector<Token> slow_word(const TokenizerSpec& spec, const std::string& word) {
  std::vector<Token> ids;
  for (size_t at = 0; at < word.size();) {
    size_t end = word.size();
    Token id = -1;
    for (; end > at && id < 0; --end) {
      id = find(spec, (at > 0 ? spec.continuing_prefix : "") + word.substr(at, end - at));
    }
    if (id < 0) return {*spec.unk};
    ids.push_back(id);
    at = end + 1;
  }
  return ids;
}

TEST(WordPiece, EqualsTheRuleOnRandomVocabularies) {
  Rng rng(5);
  const auto word = [&](size_t longest) {
    std::string text;
    for (uint64_t n = 1 + rng.below(longest); n > 0; --n) text += "abc"[rng.below(3)];
    return text;
  };
  for (int i = 0; i < 200; ++i) {
    std::set<std::string> pieces;
    for (int k = 0; k < 30; ++k) pieces.insert((rng.below(2) == 0 ? "##" : "") + word(4));
    const TokenizerSpec spec = spec_of({pieces.begin(), pieces.end()});
    const auto tokenizer = test_tokenizer(spec);
    std::string text;
    std::vector<Token> expected;
    for (int k = 0; k < 40; ++k) {
      const std::string next = word(k % 5 == 0 ? 30 : 8);
      const std::vector<Token> ids = slow_word(spec, next);
      expected.insert(expected.end(), ids.begin(), ids.end());
      text += next + (rng.below(2) == 0 ? " " : " \n\u3000");
    }
    EXPECT_EQ(test_ids(*tokenizer, text), expected) << text;
    std::vector<Token> ids;
    std::vector<TokenSpan> spans;
    TokenSink sink(&ids, &spans);
    const TextPart part{text, SpecialParsing::off};
    tokenizer->encode_parts({&part, 1}, false, sink);
    ASSERT_EQ(ids, expected);
    for (size_t t = 0; t < ids.size(); ++t) {
      const std::string piece = text.substr(spans[t].begin, spans[t].end - spans[t].begin);
      const std::string& token = spec.tokens[static_cast<size_t>(ids[t])];
      EXPECT_TRUE(ids[t] == 0 || token == piece || token == "##" + piece) << token;
    }
  }
}

TEST(WordPiece, SplitsAsBert) {
  const TokenizerSpec spec = spec_of({"a", "b", "!", "\u3002", "##!", "-"});
  const auto tokenizer = test_tokenizer(spec);
  EXPECT_EQ(test_ids(*tokenizer, "a!!b\u3002a\t-\u00A0[UNK]"),
            (std::vector<Token>{2, 4, 4, 3, 5, 2, 7, 0, 0, 0}));
  // The same splits as regular expressions, and others.
  std::string signs = R"([!-/:-@\[-`{-~)";
  for (uint32_t c = 0x80; c < 0x20000; ++c) {
    if (is_bert_punctuation(c)) append_utf8(signs, c);
  }
  TokenizerSpec named = spec;
  named.splits = {{.regex = R"(\s+)", .behavior = SplitBehavior::removed},
                  {.regex = signs + "]", .behavior = SplitBehavior::isolated}};
  EXPECT_EQ(test_ids(*test_tokenizer(named), "a!!b\u3002a"), test_ids(*tokenizer, "a!!b\u3002a"));
  named.splits[1].regex = patterns::kPunctuationSign;
  EXPECT_EQ(test_ids(*test_tokenizer(named), "a!!b\u3002a"), test_ids(*tokenizer, "a!!b\u3002a"));
  named.splits[1].regex = "[a]";
  EXPECT_EQ(test_ids(*test_tokenizer(named), "ab a"), (std::vector<Token>{2, 3, 2}));
}

TEST(WordPiece, LongWordsAreUnknown) {
  TokenizerSpec spec = spec_of({"a", "##a", "\u00E9", "##\u00E9"});
  spec.max_word_chars = 3;
  const auto tokenizer = test_tokenizer(spec);
  EXPECT_EQ(test_ids(*tokenizer, "aaa aaaa"), (std::vector<Token>{2, 3, 3, 0}));
  EXPECT_EQ(test_ids(*tokenizer, "\u00E9\u00E9\u00E9"), (std::vector<Token>{4, 5, 5}));
  spec.unk.reset();
  EXPECT_EQ(test_ids(*test_tokenizer(spec), "aaaa a"), (std::vector<Token>{2}));
}

TEST(WordPiece, DecodesWithSpaces) {
  TokenizerSpec spec = spec_of({"hi", "##s", ".", "'s", "'"});
  auto text = [&](std::vector<Token> ids) {
    std::string out;
    for (const Token id : ids) out += test_tokenizer(spec)->token_bytes(id, false);
    return out;
  };
  EXPECT_EQ(text({2, 3, 4, 5, 6, 2, 1}), " his . 's ' hi");
  spec.cleanup_spaces = true;
  EXPECT_EQ(text({2, 3, 4, 5, 6, 2}), " his.'s ' hi");
}

std::string shared_data(const std::string& name) {
  const char* folder = std::getenv("RUV_DATA_DIR");
  return (folder != nullptr ? std::string(folder) : RUV_SOURCE_DIR "/../shared/data") + "/" + name;
}

TEST(WordPiece, EqualsTokenizersPackageOnBert) {
  const std::string folder = shared_data("tokenizers/hf/bert-uncased-m2v/");
  const auto file = read_text_file(folder + "tokenizer.json");
  const auto cases = read_text_file(folder + "cases.json");
  if (!file || !cases) GTEST_SKIP() << "no " << folder;
  const Json document = *parse_json(*file, folder);
  TokenizerSpec spec;
  spec.kind = TokenizerKind::wordpiece;
  const Json& vocab = document.at("model").at("vocab");
  spec.tokens.resize(vocab.size());
  for (const auto& [text, id] : vocab.items()) spec.tokens[id.get<size_t>()] = text;
  spec.kinds.assign(vocab.size(), TokenKind::normal);
  spec.unk = vocab.at("[UNK]").get<Token>();
  for (const Json& added : document.at("added_tokens")) {
    const auto id = added.at("id").get<Token>();
    spec.kinds[static_cast<size_t>(id)] = TokenKind::control;
    spec.added.push_back(
        {.id = id, .text = added.at("content").get<std::string>(), .special = true});
  }
  spec.normalizers = {{.kind = NormalizerKind::clean_text},
                      {.kind = NormalizerKind::space_ideographs},
                      {.kind = NormalizerKind::nfd},
                      {.kind = NormalizerKind::strip_accents},
                      {.kind = NormalizerKind::lowercase}};
  const auto normalizer = *Normalizer::create(spec.normalizers);
  spec.normalizers.clear();
  const auto tokenizer = test_tokenizer(spec);
  const Json parsed = *parse_json(*cases, folder);
  for (const Json& row : parsed.at("cases")) {
    const auto text = row.at("text").get<std::string>();
    NormalizedText normalized;
    normalizer.apply(text, false, normalized);
    EXPECT_EQ(test_ids(*tokenizer, normalized.text), row.at("ids").get<std::vector<Token>>())
        << text;
  }
}

}  // namespace
}  // namespace ruv
