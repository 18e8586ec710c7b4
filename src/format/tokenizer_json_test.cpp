// Tokenizers of tokenizer.json files against the ids of the reference implementation, pipelines in
// small, and hostile files.
#include "format/tokenizer_json.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <sstream>

#include "base/file.h"
#include "base/json.h"
#include "format/gguf.h"
#include "format/gguf_vocab.h"
#include "text/pre_tokenizer.h"

namespace ruv {
namespace {

std::string shared_data(const std::string& name) {
  const char* folder = std::getenv("RUV_DATA_DIR");
  return (folder != nullptr ? std::string(folder) : RUV_SOURCE_DIR "/../shared/data") + "/" + name;
}

Json read_json(const std::string& path) { return *parse_json(*read_text_file(path), path); }

std::shared_ptr<const Tokenizer> made(Result<TokenizerSpec> spec) {
  if (!spec) {
    ADD_FAILURE() << spec.error().message();
    return nullptr;
  }
  auto tokenizer = Tokenizer::create(std::move(*spec));
  if (!tokenizer) ADD_FAILURE() << tokenizer.error().message();
  return tokenizer ? *tokenizer : nullptr;
}

std::vector<Token> encoded(const Tokenizer& tokenizer, std::string_view text) {
  std::vector<Token> ids;
  tokenizer.encode(text, SpecialParsing::on, false, ids);
  return ids;
}

class HuggingFaceCases : public testing::TestWithParam<const char*> {};

TEST_P(HuggingFaceCases, IdsAndTextEqualTheReference) {
  const std::string folder = shared_data("tokenizers/hf/" + std::string(GetParam()));
  if (!file_exists(folder + "/cases.json")) GTEST_SKIP() << folder;
  const auto tokenizer = made(read_tokenizer_folder(folder));
  ASSERT_NE(tokenizer, nullptr);
  const Json cases = read_json(folder + "/cases.json")["cases"];
  ASSERT_GE(cases.size(), 60U);
  for (const Json& one : cases) {
    const std::string text = one["text"];
    const std::vector<Token> ids = one["ids"];
    EXPECT_EQ(encoded(*tokenizer, text), ids) << text;
    EXPECT_EQ(tokenizer->encode_prompt(text, SpecialParsing::on),
              one["ids_with_special"].get<std::vector<Token>>())
        << text;
    EXPECT_EQ(tokenizer->decode(ids, true), one["decoded"].get<std::string>());
  }
}

INSTANTIATE_TEST_SUITE_P(Folders, HuggingFaceCases,
                         testing::Values("llama2", "phi-2", "roberta-base"));

TEST(TokenizerJson, TrainedModelPromptsEqualTheReference) {
  const std::string folder = shared_data("trained/nano");
  if (!file_exists(folder + "/tokenizer.json")) GTEST_SKIP() << folder;
  const auto tokenizer = made(read_tokenizer_folder(folder));
  ASSERT_NE(tokenizer, nullptr);
  EXPECT_EQ(tokenizer->spec().pre, "qwen2");
  EXPECT_TRUE(tokenizer->spec().nfc);
  EXPECT_FALSE(tokenizer->spec().add_bos);
  EXPECT_TRUE(tokenizer->ends_answer(*tokenizer->find("<|im_end|>")));
  const Json cases = read_json(shared_data("trained/eval/nano_reference.json"))["cases"];
  ASSERT_FALSE(cases.empty());
  for (const Json& one : cases) {
    EXPECT_EQ(encoded(*tokenizer, one["prompt"].get<std::string>()),
              one["ids"].get<std::vector<Token>>());
  }
}

// Of a folder or a GGUF file.
Result<TokenizerSpec> read_spec(const std::string& path) {
  if (!path.ends_with(".gguf")) return read_tokenizer_folder(path);
  const MappedFile file = TRY(MappedFile::open(path));
  const GgufContents contents = TRY(parse_gguf(file.bytes(), path));
  return tokenizer_spec_from_metadata(contents.metadata, path);
}

// A test made by tests/oracle/compare_tokenizers.py; it is not part of the ordinary run.
TEST(TokenizerJson, OracleCases) {
  const char* path = std::getenv("RUV_TOKENIZER_CASES");
  if (path == nullptr) GTEST_SKIP() << "RUV_TOKENIZER_CASES names no file";
  std::istringstream lines(*read_text_file(path));
  std::map<std::string, std::shared_ptr<const Tokenizer>> tokenizers;
  size_t n_wrong = 0;
  for (std::string line; std::getline(lines, line) && n_wrong < 20;) {
    const Json one = *parse_json(line, path);
    const std::string text = one["text"];
    if (one.contains("patterns")) {
      const auto scheme = find_scheme(one["patterns"].get<std::vector<std::string>>());
      ASSERT_TRUE(scheme) << one["patterns"];
      std::vector<size_t> ends;
      PreTokenizer::find(*scheme)->split(text, ends);
      const auto expected = one["ends"].get<std::vector<size_t>>();
      EXPECT_EQ(ends, expected) << *scheme << ": " << one["text"];
      n_wrong += ends != expected;
    } else {
      auto& tokenizer = tokenizers[one["folder"]];
      if (!tokenizer) tokenizer = made(read_spec(one["folder"]));
      ASSERT_NE(tokenizer, nullptr);
      const auto expected = one["ids"].get<std::vector<Token>>();
      const std::vector<Token> ids = encoded(*tokenizer, text);
      EXPECT_EQ(ids, expected) << one["folder"] << one["text"];
      n_wrong += ids != expected;
    }
  }
}

}  // namespace
}  // namespace ruv
