// Qwen2 and cl100k against ids of tiktoken. The rank files hold byte strings only; the merges that
// made them are recovered by encoding each token with the ranks below its own.
#include <gtest/gtest.h>

#include <cstdlib>
#include <sstream>

#include "base/file.h"
#include "base/json.h"
#include "text/bpe/byte_alphabet.h"
#include "text/tokenizer.h"

namespace ruv::tiktoken_cases_test {
namespace {

std::string shared_data(const std::string& name) {
  const char* folder = std::getenv("RUV_DATA_DIR");
  return (folder != nullptr ? std::string(folder) : RUV_SOURCE_DIR "/../shared/data") + "/" + name;
}

std::string from_base64(std::string_view text) {
  const std::string_view digits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  uint32_t bits = 0;
  int n_bits = 0;
  for (const char c : text.substr(0, text.find('='))) {
    bits = (bits << 6) | static_cast<uint32_t>(digits.find(c));
    n_bits += 6;
    if (n_bits < 8) continue;
    n_bits -= 8;
    out += static_cast<char>(bits >> n_bits);
  }
  return out;
}

// The two parts that a token's merge joins: what is left when only lower ranks merge.
std::pair<std::string, std::string> parts_of(const TokenIndex& tokens, Token id) {
  std::vector<std::string> parts;
  for (const char c : tokens.text(id)) parts.emplace_back(1, c);
  while (parts.size() > 2) {
    size_t best = 0;
    Token best_rank = id;
    for (size_t i = 0; i + 1 < parts.size(); ++i) {
      const Token rank = tokens.find(parts[i] + parts[i + 1]).value_or(id);
      if (rank >= best_rank) continue;
      best = i;
      best_rank = rank;
    }
    if (best_rank == id) break;
    parts[best] += parts[best + 1];
    parts.erase(parts.begin() + static_cast<std::ptrdiff_t>(best) + 1);
  }
  EXPECT_EQ(parts.size(), 2U);
  return {parts[0], parts[1]};
}

std::shared_ptr<const Tokenizer> from_ranks(const std::string& path, const std::string& scheme) {
  std::istringstream lines(*read_text_file(path));
  TokenIndex tokens;
  TokenizerSpec spec;
  spec.pre = scheme;
  int64_t rank = 0;
  for (std::string base64; lines >> base64 >> rank;) {
    const std::string bytes = from_base64(base64);
    EXPECT_EQ(rank, std::ssize(spec.tokens));
    tokens.add(bytes);
    spec.tokens.push_back(to_byte_alphabet(bytes));
    spec.kinds.push_back(TokenKind::normal);
    if (bytes.size() == 1) continue;
    const auto [left, right] = parts_of(tokens, static_cast<Token>(rank));
    spec.merges.push_back(to_byte_alphabet(left) + " " + to_byte_alphabet(right));
  }
  auto tokenizer = Tokenizer::create(std::move(spec));
  if (!tokenizer) ADD_FAILURE() << tokenizer.error().message();
  return tokenizer ? *tokenizer : nullptr;
}

void expect_ids(const Tokenizer& tokenizer, const std::string& text,
                const std::vector<Token>& expected) {
  std::vector<Token> ids;
  tokenizer.encode(text, SpecialParsing::off, false, ids);
  EXPECT_EQ(ids, expected) << text;
  EXPECT_EQ(tokenizer.decode(ids, false), text);
}

void expect_cases(const Tokenizer& tokenizer, const std::string& path) {
  const Json cases = (*parse_json(*read_text_file(path), path))["cases"];
  ASSERT_GE(cases.size(), 60U);
  for (const Json& one : cases) {
    expect_ids(tokenizer, one["text"].get<std::string>(), one["ids"].get<std::vector<Token>>());
  }
}

TEST(TiktokenCases, Cl100k) {
  const std::string base = shared_data("tokenizers/tiktoken/cl100k_base");
  if (!file_exists(base + ".tiktoken")) GTEST_SKIP() << base;
  const auto tokenizer = from_ranks(base + ".tiktoken", "llama-bpe");
  ASSERT_NE(tokenizer, nullptr);
  expect_cases(*tokenizer, base + ".cases.json");
}

TEST(TiktokenCases, Qwen2) {
  const std::string folder = shared_data("tokenizers/tiktoken/");
  if (!file_exists(folder + "qwen.tiktoken")) GTEST_SKIP() << folder;
  const auto tokenizer = from_ranks(folder + "qwen.tiktoken", "qwen2");
  ASSERT_NE(tokenizer, nullptr);
  expect_cases(*tokenizer, folder + "qwen.cases.json");

  const std::string separator = "\n__ggml_vocab_test__\n";
  std::string texts = *read_text_file(folder + "ggml-vocab-qwen2.gguf.inp");
  std::istringstream lines(*read_text_file(folder + "ggml-vocab-qwen2.gguf.out"));
  int n = 0;
  for (std::string line; std::getline(lines, line); ++n) {
    const size_t end = std::min(texts.find(separator), texts.size());
    std::istringstream numbers(line);
    std::vector<Token> expected;
    for (Token id; numbers >> id;) expected.push_back(id);
    expect_ids(*tokenizer, texts.substr(0, end), expected);
    texts.erase(0, std::min(end + separator.size(), texts.size()));
  }
  EXPECT_GE(n, 46);
}

}  // namespace
}  // namespace ruv::tiktoken_cases_test
