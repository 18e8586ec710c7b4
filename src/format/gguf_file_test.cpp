// GGUF files on disk: splits made here, and the real files of the shared test data.
#include <gtest/gtest.h>

#include "base/file.h"
#include "format/gguf.h"
#include "format/gguf_builder.h"
#include "format/test_folder.h"

namespace ruv::gguf_file_test {
namespace {

constexpr uint32_t kF32 = 0;

// Split `number` (from 0) of `count` with one tensor "t<number>".
std::string split_bytes(uint16_t number, uint16_t count, int32_t n_tensors) {
  GgufBuilder file(3, 1, number == 0 ? 5 : 3);
  file.key("split.no", 2).raw(number);
  file.key("split.count", 2).raw(count);
  file.key("split.tensors.count", 5).raw(n_tensors);
  if (number == 0) file.text_entry("general.architecture", "llama").u32_entry("llama.x", 7);
  return file.tensor("t" + std::to_string(number), {4}, kF32, 0).data(32, 16).bytes();
}

std::string error_of(const std::string& path) {
  const auto file = ModelFile::open(path);
  return file ? "no error" : file.error().message();
}

TEST(GgufFile, OpensSplitsAsOne) {
  const TestFolder folder;
  const std::string first = folder.write("m-00001-of-00003.gguf", split_bytes(0, 3, 3));
  folder.write("m-00002-of-00003.gguf", split_bytes(1, 3, 3));
  const std::string last = folder.write("m-00003-of-00003.gguf", split_bytes(2, 3, 3));
  const auto file = ModelFile::open(first);
  ASSERT_TRUE(file) << file.error().message();
  EXPECT_EQ((*file)->tensors().size(), 3U);
  ASSERT_NE((*file)->find_tensor("t2"), nullptr);
  EXPECT_EQ(static_cast<int>((*file)->find_tensor("t2")->bytes[5]), 5);
  EXPECT_EQ((*file)->integer("x").value(), 7);
  EXPECT_NE(error_of(last).find("open the first one instead: " + first), std::string::npos);
}

TEST(GgufFile, RefusesSplitsThatDoNotFit) {
  const TestFolder folder;
  const std::string first = folder.write("m-00001-of-00002.gguf", split_bytes(0, 2, 2));
  EXPECT_NE(error_of(first).find("m-00002-of-00002.gguf"), std::string::npos);
  folder.write("m-00002-of-00002.gguf", split_bytes(0, 2, 2));
  EXPECT_NE(error_of(first).find("says it is split 1 of 2, expected 2 of 2"), std::string::npos);
  folder.write("m-00002-of-00002.gguf", split_bytes(1, 2, 2));
  EXPECT_EQ(error_of(first), "no error");
  folder.write("m-00001-of-00002.gguf", split_bytes(0, 2, 3));
  EXPECT_NE(error_of(first).find("split.tensors.count"), std::string::npos);
  const std::string renamed = folder.write("model.gguf", split_bytes(0, 2, 2));
  EXPECT_NE(error_of(renamed).find("-00001-of-00002.gguf"), std::string::npos);
}

TEST(GgufFile, RefusesWhatCannotBeAModel) {
  const TestFolder folder;
  EXPECT_NE(error_of(folder.write("a.gguf", "")).find("magic"), std::string::npos);
  EXPECT_NE(
      error_of(folder.write("b.gguf", GgufBuilder(3, 0, 0).bytes())).find("general.architecture"),
      std::string::npos);
  GgufBuilder odd(3, 0, 1);
  odd.text_entry("general.architecture", "a\nb");
  EXPECT_NE(error_of(folder.write("odd.gguf", odd.bytes())).find("short text"), std::string::npos);
  GgufBuilder twice(3, 2, 1);
  twice.text_entry("general.architecture", "llama").tensor("t", {8}, kF32, 0);
  const std::string path =
      folder.write("c.gguf", twice.tensor("t", {8}, kF32, 32).data(32, 64).bytes());
  EXPECT_EQ(error_of(path), path + ": tensor 't' appears twice");
  const auto missing = ModelFile::open(folder.path() + "/none.gguf");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code(), Code::not_found);
}

class RealGguf
    : public testing::TestWithParam<std::tuple<const char*, const char*, size_t, size_t>> {};

TEST_P(RealGguf, Opens) {
  const auto [name, architecture, n_tensors, n_entries] = GetParam();
  const std::string path = shared_file(name);
  if (path.empty()) GTEST_SKIP() << name << " is not here";
  const auto opened = ModelFile::open(path);
  ASSERT_TRUE(opened) << opened.error().message();
  const ModelFile& file = **opened;
  EXPECT_EQ(file.container(), "gguf");
  EXPECT_EQ(file.architecture(), architecture);
  EXPECT_EQ(file.tensors().size(), n_tensors);
  EXPECT_EQ(file.metadata().size(), n_entries);
  EXPECT_EQ(file.rope_order(),
            file.architecture() == "llama" ? RopeOrder::neighbours : RopeOrder::halves);
  EXPECT_FALSE(file.norms_minus_one());
}

// Figures of the gguf Python package's reader.
INSTANTIATE_TEST_SUITE_P(
    Shared, RealGguf,
    testing::Values(
        std::tuple("models/stories260K/derived/stories260K.f32.gguf", "llama", 48U, 23U),
        std::tuple("models/gpt-nano-sort/derived/gpt-nano-sort.f32.gguf", "gpt2", 41U, 16U),
        std::tuple("models/random/llama-2-tiny-random.f16.gguf", "llama", 12U, 18U),
        std::tuple("trained/nano/ruvltra-nano-f16.gguf", "qwen2", 98U, 26U),
        std::tuple("trained/moe/ruvltra-moe-f16.gguf", "llama", 32U, 29U),
        std::tuple("tokenizers/ggml-vocab/ggml-vocab-phi-3.gguf", "phi3", 0U, 26U),
        std::tuple("tokenizers/ggml-vocab/ggml-vocab-bert-bge.gguf", "bert", 0U, 20U),
        std::tuple("tokenizers/ggml-vocab/ggml-vocab-falcon.gguf", "falcon", 0U, 18U)),
    [](const auto& info) {
      std::string name = std::get<0>(info.param);
      name = name.substr(name.rfind('/') + 1);
      std::erase_if(name, [](char c) { return !isalnum(static_cast<unsigned char>(c)); });
      return name;
    });

TEST(GgufFile, RealTensorsHoldTheirNumbers) {
  const std::string path = shared_file("models/stories260K/derived/stories260K.f32.gguf");
  const std::string source = shared_file("models/stories260K/stories260K.bin");
  if (path.empty() || source.empty()) GTEST_SKIP() << "stories260K is not here";
  const auto file = ModelFile::open(path);
  ASSERT_TRUE(file) << file.error().message();
  const TensorInfo* embeddings = (*file)->find_tensor("token_embd.weight");
  ASSERT_NE(embeddings, nullptr);
  EXPECT_EQ(embeddings->shape, (std::vector<int64_t>{512, 64}));
  // The source starts with seven integers, then the same matrix.
  const auto bin = MappedFile::open(source);
  ASSERT_TRUE(bin);
  EXPECT_EQ(as_text(embeddings->bytes), as_text(bin->bytes().subspan(28, 512 * 64 * 4)));
}

TEST(GgufFile, RealVersion1IsRefusedByName) {
  const std::string path = shared_file("models/stories260K/tinyllamas-stories-260k-f32.v1.gguf");
  if (path.empty()) GTEST_SKIP() << "the version 1 file is not here";
  const auto file = ModelFile::open(path);
  ASSERT_FALSE(file);
  EXPECT_EQ(file.error().code(), Code::unsupported);
  EXPECT_NE(file.error().message().find("GGUF version 1"), std::string::npos);
}

}  // namespace
}  // namespace ruv::gguf_file_test
