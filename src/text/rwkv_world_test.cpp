#include "text/rwkv_world.h"

#include <gtest/gtest.h>

#include <map>

#include "base/file.h"
#include "base/json.h"
#include "base/rng.h"
#include "base/utf8.h"
#include "text/test_vocabularies.h"

namespace ruv::rwkv_world_test {
namespace {

TokenizerSpec spec_of(const std::vector<std::string>& tokens) {
  TokenizerSpec spec;
  spec.kind = TokenizerKind::rwkv_world;
  spec.raw_tokens = true;
  spec.tokens = {""};
  spec.kinds = {TokenKind::control};
  for (const std::string& token : tokens) {
    spec.tokens.push_back(token);
    spec.kinds.push_back(TokenKind::normal);
  }
  return spec;
}

std::vector<Token> slowly_encoded(const TokenizerSpec& spec, const std::string& text) {
  std::map<std::string, Token> ids;
  for (size_t i = 1; i < spec.tokens.size(); ++i) ids.emplace(spec.tokens[i], i);
  std::vector<Token> out;
  for (size_t at = 0; at < text.size();) {
    size_t n = text.size() - at;
    while (n > 0 && ids.count(text.substr(at, n)) == 0) --n;
    if (n > 0) out.push_back(ids.at(text.substr(at, n)));
    at += std::max<size_t>(n, 1);
  }
  return out;
}

// Tokens that are long prefixes of one another make many candidates.
TEST(RwkvWorld, TakesTheLongestToken) {
  Rng rng(9);
  for (int i = 0; i < 200; ++i) {
    std::vector<std::string> tokens;
    for (int k = 0; k < 40; ++k) {
      std::string token;
      const uint64_t letters = 1 + rng.below(3);
      for (uint64_t n = 1 + rng.below(24); n > 0; --n) token += "ab\xFF"[rng.below(letters)];
      tokens.push_back(token);
    }
    if (i % 4 == 0) tokens.insert(tokens.end(), {"a", "b", "\xFF"});
    const TokenizerSpec spec = spec_of(tokens);
    const auto tokenizer = test_tokenizer(spec);
    std::string text;
    for (uint64_t n = rng.below(60); n > 0; --n) text += "aaab\xFF"[rng.below(5)];
    for (uint64_t n = rng.below(6); n > 0; --n) text += tokens[rng.below(tokens.size())];
    const std::vector<Token> ids = test_ids(*tokenizer, text);
    EXPECT_EQ(ids, slowly_encoded(spec, text));
    if (i % 4 == 0) {
      EXPECT_EQ(tokenizer->decode(ids, false), text);
    }
  }
}

TEST(RwkvWorld, WantsRawTokens) {
  TokenizerSpec spec = spec_of({"a"});
  spec.raw_tokens = false;
  EXPECT_FALSE(Tokenizer::create(spec).has_value());
}

// A Python literal: 'text', b'bytes', either quote, with escapes.
std::string unquoted(std::string_view literal) {
  const bool bytes = literal.starts_with('b');
  literal.remove_prefix(bytes ? 2 : 1);
  literal.remove_suffix(1);
  std::string out;
  for (size_t i = 0; i < literal.size(); ++i) {
    if (literal[i] != '\\') {
      out += literal[i];
      continue;
    }
    const char kind = literal[++i];
    const size_t n_digits = kind == 'x' ? 2 : kind == 'u' ? 4 : kind == 'U' ? 8 : 0;
    if (n_digits == 0) {
      const size_t known = std::string_view("ntr").find(kind);
      out += known == std::string_view::npos ? kind : "\n\t\r"[known];
      continue;
    }
    const auto value = static_cast<uint32_t>(
        std::stoul(std::string(literal.substr(i + 1, n_digits)), nullptr, 16));
    if (bytes) {
      out += static_cast<char>(value);
    } else {
      append_utf8(out, value);
    }
    i += n_digits;
  }
  return out;
}

std::string shared_data(const std::string& name) {
  const char* folder = std::getenv("RUV_DATA_DIR");
  return (folder != nullptr ? std::string(folder) : RUV_SOURCE_DIR "/../shared/data") + "/" + name;
}

TEST(RwkvWorld, EqualsThePublishedVocabularysCases) {
  const std::string folder = shared_data("tokenizers/rwkv-world/");
  const auto vocabulary = read_text_file(folder + "rwkv_vocab_v20230424.txt");
  const auto cases = read_text_file(folder + "cases.json");
  if (!vocabulary || !cases) GTEST_SKIP() << "no " << folder;
  TokenizerSpec spec = spec_of({});
  for (size_t at = 0; at < vocabulary->size();) {
    const size_t end = std::min(vocabulary->find('\n', at), vocabulary->size());
    const std::string_view line = std::string_view(*vocabulary).substr(at, end - at);
    const auto id = std::stoul(std::string(line));
    const size_t first = line.find(' ') + 1;
    spec.tokens.resize(std::max(spec.tokens.size(), id + 1));
    spec.kinds.resize(spec.tokens.size(), TokenKind::normal);
    spec.tokens[id] = unquoted(line.substr(first, line.rfind(' ') - first));
    at = end + 1;
  }
  const auto tokenizer = test_tokenizer(spec);
  const Json parsed = *parse_json(*cases, folder);
  for (const Json& row : parsed.at("cases")) {
    const auto text = row.at("text").get<std::string>();
    const std::vector<Token> ids = test_ids(*tokenizer, text);
    EXPECT_EQ(ids, row.at("ids").get<std::vector<Token>>()) << text;
    EXPECT_EQ(tokenizer->decode(ids, false), text);
  }
}

}  // namespace
}  // namespace ruv::rwkv_world_test
