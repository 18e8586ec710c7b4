// Tokenizers of GGUF files against the ids their reference implementations gave (cases of the
// ggml-vocab files: texts in .inp, ids in .out), and the reading of broken metadata.
#include "format/gguf_vocab.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <sstream>

#include "base/file.h"
#include "base/json.h"
#include "format/gguf.h"
#include "format/tokenizer_json.h"

namespace ruv::gguf_vocab_test {
namespace {

std::string shared_data(const std::string& name) {
  const char* folder = std::getenv("RUV_DATA_DIR");
  return (folder != nullptr ? std::string(folder) : RUV_SOURCE_DIR "/../shared/data") + "/" + name;
}

Result<TokenizerSpec> spec_of(const std::string& path) {
  const MappedFile file = TRY(MappedFile::open(path));
  const GgufContents contents = TRY(parse_gguf(file.bytes(), path));
  return tokenizer_spec_from_metadata(contents.metadata, path);
}

std::shared_ptr<const Tokenizer> open_tokenizer(const std::string& path) {
  Result<TokenizerSpec> spec = spec_of(path);
  if (!spec) {
    ADD_FAILURE() << spec.error().message();
    return nullptr;
  }
  auto tokenizer = Tokenizer::create(std::move(*spec));
  if (!tokenizer) ADD_FAILURE() << tokenizer.error().message();
  return tokenizer ? *tokenizer : nullptr;
}

struct VocabCase {
  std::string text;
  std::vector<Token> ids;
};

std::vector<VocabCase> read_cases(const std::string& path) {
  const std::string separator = "\n__ggml_vocab_test__\n";
  std::string texts = *read_text_file(path + ".inp");
  std::istringstream lines(*read_text_file(path + ".out"));
  std::vector<VocabCase> cases;
  for (std::string line; std::getline(lines, line);) {
    const size_t end = std::min(texts.find(separator), texts.size());
    VocabCase one{texts.substr(0, end), {}};
    std::istringstream ids(line);
    for (Token id; ids >> id;) one.ids.push_back(id);
    cases.push_back(one);
    texts.erase(0, std::min(end + separator.size(), texts.size()));
  }
  return cases;
}

class GgufVocabCases : public testing::TestWithParam<const char*> {};

TEST_P(GgufVocabCases, IdsEqualTheReference) {
  const std::string path =
      shared_data("tokenizers/ggml-vocab/ggml-vocab-" + std::string(GetParam()) + ".gguf");
  if (!file_exists(path)) GTEST_SKIP() << path;
  const auto tokenizer = open_tokenizer(path);
  ASSERT_NE(tokenizer, nullptr);
  const std::vector<VocabCase> cases = read_cases(path);
  ASSERT_GE(cases.size(), 46U);
  for (const VocabCase& one : cases) {
    std::vector<Token> ids;
    tokenizer->encode(one.text, SpecialParsing::off, false, ids);
    EXPECT_EQ(ids, one.ids) << "text: " << one.text;
    EXPECT_EQ(tokenizer->decode(ids, false), one.text);
  }
}

// BERT lowers the case and writes spaces of its own, so that only ids can be compared.
TEST(GgufVocab, BertIdsEqualTheReference) {
  const std::string path = shared_data("tokenizers/ggml-vocab/ggml-vocab-bert-bge.gguf");
  if (!file_exists(path)) GTEST_SKIP() << path;
  const auto tokenizer = open_tokenizer(path);
  ASSERT_NE(tokenizer, nullptr);
  const std::vector<VocabCase> cases = read_cases(path);
  ASSERT_GE(cases.size(), 46U);
  for (const VocabCase& one : cases) {
    std::vector<Token> ids;
    tokenizer->encode(one.text, SpecialParsing::off, false, ids);
    EXPECT_EQ(ids, one.ids) << "text: " << one.text;
  }
  EXPECT_EQ(tokenizer->encode_prompt("", SpecialParsing::off), (std::vector<Token>{101, 102}));
}

INSTANTIATE_TEST_SUITE_P(Files, GgufVocabCases,
                         testing::Values("llama-spm", "phi-3", "gpt-2", "starcoder", "falcon",
                                         "deepseek-coder"));

std::vector<Token> encoded(const Tokenizer& tokenizer, std::string_view text) {
  std::vector<Token> ids;
  tokenizer.encode(text, SpecialParsing::on, false, ids);
  return ids;
}

TEST(GgufVocab, StoriesPromptsEqualTheReference) {
  const std::string folder = shared_data("models/stories260K/derived");
  if (!file_exists(folder + "/golden.json")) GTEST_SKIP() << folder;
  const auto tokenizer = open_tokenizer(folder + "/stories260K.f32.gguf");
  ASSERT_NE(tokenizer, nullptr);
  const Json golden = *parse_json(*read_text_file(folder + "/golden.json"), folder);
  ASSERT_FALSE(golden["generation"].empty());
  for (const Json& one : golden["generation"]) {
    const auto prompt = one["prompt"].get<std::string>();
    EXPECT_EQ(tokenizer->encode_prompt(prompt, SpecialParsing::off),
              one["prompt_tokens"].get<std::vector<Token>>())
        << prompt;
  }
}

TEST(GgufVocab, TheTrainedModelsFileAndFolderAgree) {
  const std::string folder = shared_data("trained/nano");
  if (!file_exists(folder + "/ruvltra-nano-f16.gguf")) GTEST_SKIP() << folder;
  const auto from_gguf = open_tokenizer(folder + "/ruvltra-nano-f16.gguf");
  auto spec = read_tokenizer_folder(folder);
  ASSERT_TRUE(from_gguf != nullptr && spec);
  const auto from_json = *Tokenizer::create(std::move(*spec));
  EXPECT_EQ(from_gguf->spec().tokens, from_json->spec().tokens);
  EXPECT_EQ(from_gguf->spec().normalizers.size(), from_json->spec().normalizers.size());
  EXPECT_EQ(from_gguf->spec().end_of_turn, from_json->spec().end_of_turn);
  const std::string text = "<|im_start|>user\nCafe\u0301 12 <tool_call>{}</tool_call><|im_end|>\n";
  EXPECT_EQ(encoded(*from_gguf, text), encoded(*from_json, text));
}

// What the template of Phi-3 relies on: white space after a role token is not text.
TEST(GgufVocab, Phi3RoleTokensEatWhiteSpace) {
  const std::string path = shared_data("tokenizers/ggml-vocab/ggml-vocab-phi-3.gguf");
  if (!file_exists(path)) GTEST_SKIP() << path;
  const auto tokenizer = open_tokenizer(path);
  ASSERT_NE(tokenizer, nullptr);
  EXPECT_EQ(encoded(*tokenizer, "<|user|>\nHello<|end|>\n<|assistant|>"),
            (std::vector<Token>{32010, 15043, 32007, 32001}));
  EXPECT_TRUE(tokenizer->ends_answer(32007));
  EXPECT_TRUE(tokenizer->ends_answer(32000));
}

MetaValue texts(std::vector<std::string> values) {
  auto array = std::make_shared<MetaArray>();
  array->strings = std::move(values);
  return array;
}

MetaValue integers(std::vector<int64_t> values) {
  auto array = std::make_shared<MetaArray>();
  array->integers = std::move(values);
  return array;
}

MetaValue numbers(std::vector<double> values) {
  auto array = std::make_shared<MetaArray>();
  array->numbers = std::move(values);
  return array;
}

MetaMap piece_metadata() {
  return {{"general.architecture", std::string("gemma")},
          {"tokenizer.ggml.model", std::string("llama")},
          {"tokenizer.ggml.tokens", texts({"<unk>", "<s>", "</s>", "a", "  "})},
          {"tokenizer.ggml.scores", numbers({0, 0, 0, -1, -2})},
          {"tokenizer.ggml.token_type", integers({2, 3, 3, 1, 4})}};
}

MetaMap byte_metadata() {
  return {{"general.architecture", std::string("llama")},
          {"tokenizer.ggml.model", std::string("gpt2")},
          {"tokenizer.ggml.pre", std::string("llama-bpe")},
          {"tokenizer.ggml.tokens", texts({"a", "b", "ab", "<|begin|>", "<|eot_id|>"})},
          {"tokenizer.ggml.token_type", integers({1, 1, 1, 3, 3})},
          {"tokenizer.ggml.merges", texts({"a b"})},
          {"tokenizer.ggml.bos_token_id", int64_t{3}}};
}

TEST(GgufVocab, DefaultsOfSentencePiece) {
  MetaMap metadata = piece_metadata();
  auto spec = tokenizer_spec_from_metadata(metadata, "x");
  ASSERT_TRUE(spec) << spec.error().message();
  EXPECT_TRUE(spec->add_bos && spec->add_space_prefix);
  EXPECT_FALSE(spec->add_eos);
  EXPECT_EQ(spec->unk, 0);
  EXPECT_EQ(spec->bos, 1);
  EXPECT_EQ(spec->eos, 2);
  ASSERT_EQ(spec->added.size(), 4U);
  EXPECT_TRUE(spec->added[0].special);
  EXPECT_FALSE(spec->added[3].special);
  metadata["tokenizer.ggml.add_space_prefix"] = false;
  metadata["tokenizer.ggml.add_bos_token"] = false;
  metadata["tokenizer.ggml.add_eos_token"] = true;
  spec = tokenizer_spec_from_metadata(metadata, "x");
  ASSERT_TRUE(spec);
  EXPECT_FALSE(spec->add_bos || spec->add_space_prefix);
  EXPECT_TRUE(spec->add_eos);
}

TEST(GgufVocab, DefaultsOfLlama3) {
  const auto spec = tokenizer_spec_from_metadata(byte_metadata(), "x");
  ASSERT_TRUE(spec) << spec.error().message();
  EXPECT_TRUE(spec->add_bos && spec->ignore_merges);
  EXPECT_EQ(spec->end_of_turn, std::vector<Token>{4});
  EXPECT_EQ(spec->eos, std::nullopt);
}

TEST(GgufVocab, ReadsUnigram) {
  MetaMap metadata = piece_metadata();
  metadata["tokenizer.ggml.model"] = std::string("t5");
  metadata["tokenizer.ggml.precompiled_charsmap"] = integers({0, 255, -1});
  metadata["tokenizer.ggml.remove_extra_whitespaces"] = true;
  auto spec = tokenizer_spec_from_metadata(metadata, "x");
  ASSERT_TRUE(spec) << spec.error().message();
  EXPECT_EQ(spec->kind, TokenizerKind::unigram);
  EXPECT_TRUE(spec->add_eos && spec->add_space_prefix && spec->remove_extra_spaces);
  EXPECT_EQ(spec->eos, 1);
  EXPECT_EQ(spec->unk, 2);
  ASSERT_EQ(spec->normalizers.size(), 1U);
  EXPECT_EQ(spec->normalizers[0].content, std::string("\0\xFF\xFF", 3));
  metadata["tokenizer.ggml.precompiled_charsmap"] = integers({256});
  EXPECT_FALSE(tokenizer_spec_from_metadata(metadata, "x"));
}

TEST(GgufVocab, ReadsWordPiecesWithAndWithoutCase) {
  MetaMap metadata = {
      {"tokenizer.ggml.model", std::string("bert")},
      {"tokenizer.ggml.tokens", texts({"[UNK]", "[CLS]", "[SEP]", "\u2581a", "b", "[unused0]"})},
      {"tokenizer.ggml.token_type", integers({3, 3, 3, 1, 1, 1})},
      {"tokenizer.ggml.unknown_token_id", int64_t{0}},
      {"tokenizer.ggml.cls_token_id", int64_t{1}},
      {"tokenizer.ggml.seperator_token_id", int64_t{2}}};
  auto spec = tokenizer_spec_from_metadata(metadata, "x");
  ASSERT_TRUE(spec) << spec.error().message();
  EXPECT_EQ(spec->tokens,
            (std::vector<std::string>{"[UNK]", "[CLS]", "[SEP]", "a", "##b", "[unused0]"}));
  EXPECT_EQ(spec->bos, 1);
  EXPECT_EQ(spec->eos, 2);
  EXPECT_TRUE(spec->add_bos && spec->add_eos && spec->cleanup_spaces);
  EXPECT_EQ(spec->normalizers.size(), 5U);
  EXPECT_EQ(spec->splits.size(), 2U);
  metadata["tokenizer.ggml.tokens"] =
      texts({"[UNK]", "[CLS]", "[SEP]", "\u2581A", "b", "[unused0]"});
  spec = tokenizer_spec_from_metadata(metadata, "x");
  ASSERT_TRUE(spec) << spec.error().message();
  EXPECT_EQ(spec->normalizers.size(), 2U);
}

TEST(GgufVocab, ReadsRwkv) {
  MetaMap metadata = {{"tokenizer.ggml.model", std::string("rwkv")},
                      {"tokenizer.ggml.tokens", texts({"<s>", "a\\n", "\\xff"})},
                      {"tokenizer.ggml.token_type", integers({3, 1, 1})}};
  const auto spec = tokenizer_spec_from_metadata(metadata, "x");
  ASSERT_TRUE(spec) << spec.error().message();
  EXPECT_EQ(spec->tokens, (std::vector<std::string>{"<s>", "a\n", "\xFF"}));
  EXPECT_TRUE(spec->raw_tokens);
  EXPECT_EQ(spec->eos, 0);
  metadata["tokenizer.ggml.tokens"] = texts({"<s>", "a", "\\x"});
  EXPECT_FALSE(tokenizer_spec_from_metadata(metadata, "x"));
}

// Converters fill rounded vocabulary sizes with tokens that no text may become.
TEST(GgufVocab, FillersAreNotMatched) {
  MetaMap metadata = byte_metadata();
  metadata["tokenizer.ggml.tokens"] = texts({"a", "b", "ab", "<|begin|>", "[PAD4]"});
  metadata["tokenizer.ggml.token_type"] = integers({1, 1, 1, 3, 4});
  const auto spec = tokenizer_spec_from_metadata(metadata, "x");
  ASSERT_TRUE(spec) << spec.error().message();
  EXPECT_EQ(spec->added.size(), 1U);
}

TEST(GgufVocab, AMissingSchemeIsKnownForSomeArchitecturesOnly) {
  MetaMap metadata = byte_metadata();
  metadata.erase("tokenizer.ggml.pre");
  const auto refused = tokenizer_spec_from_metadata(metadata, "x");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), Code::unsupported);
  metadata["general.architecture"] = std::string("qwen2");
  const auto spec = tokenizer_spec_from_metadata(metadata, "x");
  ASSERT_TRUE(spec);
  EXPECT_EQ(spec->pre, "qwen2");
  EXPECT_TRUE(spec->normalizers.size() == 1);
}

TEST(GgufVocab, WhatIsBrokenIsNamed) {
  const auto error = [](MetaMap metadata, const std::string& key, std::optional<MetaValue> value) {
    if (value) {
      metadata["tokenizer.ggml." + key] = *value;
    } else {
      metadata.erase("tokenizer.ggml." + key);
    }
    const auto spec = tokenizer_spec_from_metadata(metadata, "file.gguf");
    return spec ? std::string("no error")
                : fmt::format("{} {}", code_name(spec.error().code()), spec.error().message());
  };
  const auto expect = [](const std::string& text, const std::string& part) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
  };
  const MetaMap pieces = piece_metadata();
  const MetaMap bytes = byte_metadata();
  expect(error(pieces, "model", {}), "not_found file.gguf: tokenizer.ggml.model");
  expect(error(pieces, "model", MetaValue(std::string("plamo2"))), "unsupported");
  expect(error(pieces, "model", MetaValue(true)), "wrong type");
  expect(error(pieces, "tokens", {}), "not_found");
  expect(error(pieces, "tokens", integers({1})), "tokens is missing");
  expect(error(pieces, "scores", {}), "scores is missing");
  expect(error(pieces, "scores", numbers({1})), "scores differs");
  expect(error(pieces, "token_type", integers({1})), "token_type differs");
  expect(error(pieces, "token_type", integers({1, 1, 1, 9, 1})), "token_type [3] is 9");
  expect(error(pieces, "eos_token_id", MetaValue(int64_t{5})), "eos_token_id is 5");
  expect(error(pieces, "eot_token_id", MetaValue(int64_t{-2})), "eot_token_id is -2");
  expect(error(pieces, "add_bos_token", MetaValue(int64_t{1})), "add_bos_token has the wrong type");
  expect(error(bytes, "pre", MetaValue(std::string("strange"))), "\"strange\"");
}

}  // namespace
}  // namespace ruv::gguf_vocab_test
