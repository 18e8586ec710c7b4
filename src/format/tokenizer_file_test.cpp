// One small file of each kind, told apart by what is in it, alone and in a folder.
#include "format/tokenizer_file.h"

#include <gtest/gtest.h>

#include "format/test_folder.h"

namespace ruv {
namespace {

constexpr const char* kJson =
    R"({"pre_tokenizer": {"type": "ByteLevel"}, "model": {"vocab": {"a": 0}, "merges": []}})";
const std::string kPiece = std::string("\x0A\x05\x0A\x03") + "abc";

TEST(TokenizerFile, ContentTellsTheKind) {
  const TestFolder folder;
  const auto kind = [&](const std::string& name, const std::string& text) {
    folder.write(name, text);
    const auto spec = read_tokenizer_spec(folder.path() + "/" + name);
    EXPECT_TRUE(spec) << spec.error().message();
    return spec ? spec->kind : TokenizerKind{};
  };
  EXPECT_EQ(kind("a.txt", kJson), TokenizerKind::byte_bpe);
  EXPECT_EQ(kind("qwen.bin", "YQ== 0\n"), TokenizerKind::byte_bpe);
  EXPECT_EQ(kind("b.txt", "1 'a' 1\n"), TokenizerKind::rwkv_world);
  EXPECT_EQ(kind("c.model", kPiece), TokenizerKind::unigram);
}

TEST(TokenizerFile, FoldersAndConfigs) {
  const TestFolder folder;
  const auto missing = read_tokenizer_spec(folder.path());
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code(), Code::not_found);
  EXPECT_NE(missing.error().message().find("tokenizer.model"), std::string::npos);
  folder.write("rwkv_vocab_v1.txt", "1 'a' 1\n");
  EXPECT_EQ(read_tokenizer_spec(folder.path())->kind, TokenizerKind::rwkv_world);
  folder.write("tokenizer.model", "YQ== 0\n");
  EXPECT_EQ(read_tokenizer_spec(folder.path(), "qwen2")->kind, TokenizerKind::byte_bpe);
  folder.write("tokenizer_config.json",
               R"({"added_tokens_decoder": {"1": {"content": "<end>", "special": true}},
                   "eos_token": "<end>"})");
  EXPECT_EQ(read_tokenizer_spec(folder.path(), "tekken")->eos, 1);
  folder.write("tokenizer.json", kJson);
  EXPECT_EQ(read_tokenizer_spec(folder.path())->tokens[0], "a");
}

TEST(TokenizerFile, ErrorsBeginWithThePath) {
  const TestFolder folder;
  folder.write("x.tiktoken", "YQ== 0\n");
  const auto unnamed = open_tokenizer_file(folder.path() + "/x.tiktoken");
  ASSERT_FALSE(unnamed);
  EXPECT_NE(unnamed.error().message().find("x.tiktoken: 1 ranks"), std::string::npos);
  folder.write("x.safetensors", "{}");
  const auto weights = read_tokenizer_spec(folder.path() + "/x.safetensors");
  ASSERT_FALSE(weights);
  EXPECT_EQ(weights.error().code(), Code::invalid);
  EXPECT_EQ(read_tokenizer_spec(folder.path() + "/absent").error().code(), Code::not_found);
}

}  // namespace
}  // namespace ruv
