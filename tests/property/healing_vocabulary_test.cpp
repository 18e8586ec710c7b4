// Real vocabularies and texts cut at random characters: the tokens that healing keeps are those of
// the whole text, whatever it was going to say. RUV_CUTS sets how many cuts are made of each.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "base/file.h"
#include "base/rng.h"
#include "base/utf8.h"
#include "format/tokenizer_file.h"
#include "text/healing.h"

namespace ruv {
namespace {

namespace fs = std::filesystem;

std::string data_dir() {
  const char* given = std::getenv("RUV_DATA_DIR");
  return given == nullptr ? RUV_SOURCE_DIR "/../shared/data" : given;
}

int n_cuts() {
  const char* asked = std::getenv("RUV_CUTS");
  return asked == nullptr ? 500 : std::atoi(asked);
}

std::string mixed_text() {
  std::string text =
      "Don't  stop:\t12345 + 67,890.12 = 80235; they'll say \"it's 3 o'clock\"...\n\n    return "
      "x;\n"
      "    if (a_b != c->d) { i++; }\r\n\r\n\xE4\xBB\x8A\xE5\xA4\xA9\xE5\xA4\xA9\xE6\xB0\x94"
      "\xE5\xBE\x88\xE5\xA5\xBD, \xE3\x81\x82\xE3\x82\x8A\xE3\x81\x8C\xE3\x81\xA8\xE3\x81\x86! "
      "\xD0\x9F\xD1\x80\xD0\xB8\xD0\xB2\xD0\xB5\xD1\x82, \xD0\xBC\xD0\xB8\xD1\x80. caf\xC3\xA9 "
      "\xE0\xA4\xA8\xE0\xA4\xAE\xE0\xA4\xB8\xE0\xA5\x8D\xE0\xA4\xA4\xE0\xA5\x87 "
      "\xF0\x9F\x98\x80\xF0\x9F\x91\x8D\xF0\x9F\x8F\xBD ======== -------- https://a.b/c?d=e#f\n";
  for (const char* file :
       {"/docs/adr/0013-packed-weights-file.md", "/docs/adr/0015-bpe-by-pair-tests.md",
        "/src/base/utf8.cpp", "/tests/cases/http/text.json"}) {
    text += read_text_file(std::string(RUV_SOURCE_DIR) + file).value().substr(0, 20'000);
    text += text.substr(0, 400);
  }
  const auto japanese = read_text_file(data_dir() + "/text/wagahaiwa_nekodearu.txt");
  return text + to_valid_utf8(japanese.value_or("").substr(0, 30'000));
}

// Short runs of what borders of words are made of.
std::string random_text(Rng& rng) {
  constexpr std::string_view kPieces[] = {"a",
                                          "the",
                                          "E",
                                          "RE",
                                          "s",
                                          "ll",
                                          "1",
                                          "23",
                                          "'",
                                          " ",
                                          "  ",
                                          "\n",
                                          "\t",
                                          "\r\n",
                                          ".",
                                          "--",
                                          "=",
                                          "_",
                                          "/",
                                          "\u00e9",
                                          "\u65e5\u672c",
                                          "\u0928\u0940",
                                          "\U0001f600"};
  std::string text;
  while (text.size() < 300) {
    const std::string_view piece = kPieces[rng.below(std::size(kPieces))];
    for (uint64_t n = 1 + (rng.below(4) == 0 ? rng.below(4) : 0); n > 0; --n) text += piece;
  }
  return text;
}

struct VocabularyCase {
  const char* path;
  const char* scheme;
};

struct Counts {
  int unstable = 0;   // a kept token is not a token of the whole text
  int at_border = 0;  // the text goes on as if it had not been cut
  size_t n_taken_back = 0;
};

size_t n_shared(std::span<const Token> a, std::span<const Token> b) {
  const size_t n = std::min(a.size(), b.size());
  return static_cast<size_t>(
      std::mismatch(a.begin(), a.begin() + static_cast<std::ptrdiff_t>(n), b.begin()).first -
      a.begin());
}

void cut_once(const Tokenizer& tokenizer, const TokenPrefixes& prefixes, std::string_view text,
              Rng& rng, Counts& counts) {
  size_t at = 100 + rng.below(text.size() - 150);
  while ((static_cast<uint8_t>(text[at]) & 0xC0) == 0x80) ++at;
  const std::vector<Token> prompt =
      tokenizer.encode_prompt(text.substr(0, at), SpecialParsing::off);
  const std::vector<Token> whole = tokenizer.encode_prompt(text, SpecialParsing::off);
  const HealedPrompt healed = heal_prompt(tokenizer, prefixes, prompt, 0);
  const size_t shared = n_shared(prompt, whole);
  const std::string where(text.substr(at - 30, 30));
  // A long run of one letter may be cut anew from its beginning: healing stops at 8 tokens.
  if (healed.n_kept > shared && healed.n_kept + 8 > prompt.size()) {
    ++counts.unstable;
    ADD_FAILURE() << "'" << where << "' before '" << text.substr(at, 10) << "': kept "
                  << healed.n_kept << " of " << prompt.size() << ", shared " << shared;
  }
  counts.at_border += shared == prompt.size();
  counts.n_taken_back += prompt.size() - healed.n_kept;
  std::string bytes;
  for (const Token id : std::span(prompt).subspan(healed.n_kept)) {
    bytes += tokenizer.token_bytes(id, true);
  }
  EXPECT_EQ(healed.prefix, bytes);
}

class HealingVocabulary : public testing::TestWithParam<VocabularyCase> {};

TEST_P(HealingVocabulary, KeptTokensAreThoseOfTheWholeText) {
  const std::string path = data_dir() + "/tokenizers/" + GetParam().path;
  if (!fs::exists(path)) GTEST_SKIP() << path << " is missing";
  const auto opened = open_tokenizer_file(path, GetParam().scheme);
  ASSERT_TRUE(opened.has_value()) << opened.error().message();
  const Tokenizer& tokenizer = **opened;
  const TokenPrefixes prefixes(tokenizer);
  const std::string text = mixed_text();
  Counts counts;
  for (int i = 0; i < n_cuts(); ++i) {
    Rng rng(static_cast<uint64_t>(i));
    const size_t begin = text.find(' ', rng.below(text.size() - 400));
    const std::string part = i % 2 == 0
                                 ? to_valid_utf8(std::string_view(text).substr(begin + 1, 300))
                                 : random_text(rng);
    if (part.size() < 200) continue;
    cut_once(tokenizer, prefixes, part, rng, counts);
  }
  std::printf("%s: %d cuts, %d at a border, %d unstable, %.2f tokens taken back\n", GetParam().path,
              n_cuts(), counts.at_border, counts.unstable,
              static_cast<double>(counts.n_taken_back) / n_cuts());
}

constexpr VocabularyCase kCases[] = {
    {"ggml-vocab/ggml-vocab-gpt-2.gguf", ""},
    {"ggml-vocab/ggml-vocab-falcon.gguf", ""},
    {"ggml-vocab/ggml-vocab-deepseek-coder.gguf", ""},
    {"ggml-vocab/ggml-vocab-starcoder.gguf", ""},
    {"ggml-vocab/ggml-vocab-llama-spm.gguf", ""},
    {"sentencepiece/mistral-v3.model", ""},
    {"sentencepiece/sp-test-unigram-en.model", ""},
    {"tiktoken/cl100k_base.tiktoken", "cl100k_base"},
    {"tiktoken/qwen.tiktoken", "qwen"},
    {"rwkv-world/rwkv_vocab_v20230424.txt", ""},
};

INSTANTIATE_TEST_SUITE_P(Files, HealingVocabulary, testing::ValuesIn(kCases), [](const auto& test) {
  std::string name = fs::path(test.param.path).stem().string();
  std::ranges::replace_if(
      name, [](char c) { return std::isalnum(c) == 0; }, '_');
  return name;
});

}  // namespace
}  // namespace ruv
