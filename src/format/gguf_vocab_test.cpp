// Tokenizers of GGUF files against the ids their reference implementations gave (cases of the
// ggml-vocab files: texts in .inp, ids in .out), and the reading of broken metadata.
#include "format/gguf_vocab.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <sstream>

#include "base/file.h"
#include "base/json.h"
#include "format/gguf.h"

namespace ruv {
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

INSTANTIATE_TEST_SUITE_P(Files, GgufVocabCases,
                         testing::Values("llama-spm", "phi-3", "gpt-2", "starcoder", "falcon",
                                         "deepseek-coder"));

}  // namespace
}  // namespace ruv
