// Whole models both ways: the tiny random ones of tests/golden/families as folder, GGUF file,
// folder and GGUF file once more; what is refused, and that nothing is left of it.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "base/file.h"
#include "convert/convert_to_folder.h"
#include "convert/same_model.h"
#include "convert/stored_types.h"
#include "format/gguf_builder.h"
#include "format/quantize.h"
#include "format/test_folder.h"
#include "golden/test_golden_files.h"

namespace ruv::convert_test {
namespace {

namespace fs = std::filesystem;

Status to_gguf(const std::string& in, const std::string& out) {
  const auto file = TRY(ModelFile::open(in));
  const StoredTypes types = TRY(stored_types(*file));
  QuantizeOptions options;
  options.n_threads = 1;
  options.rules = types.rules;
  return quantize_model(*file, types.type, out, options);
}

FolderOptions one_thread() {
  FolderOptions options;
  options.n_threads = 1;
  return options;
}

Json goldens_of(const std::string& family) {
  const std::string path = RUV_SOURCE_DIR "/tests/golden/families/" + family + ".json";
  const auto text = read_text_file(path);
  return text ? *parse_json(*text, path) : Json::array();
}

// The first golden that is no refusal, or the one of a name.
Json golden_of(const std::string& family, const std::string& name = {}) {
  for (const Json& golden : goldens_of(family)) {
    if (golden.contains("refused_by")) continue;
    if (name.empty() || golden.at("name") == name) return golden;
  }
  return {};
}

// What of a GGUF file another one lacks, or has otherwise; empty: nothing but names, hashes, and
// whether layers with a window are listed or counted, which the conversion has compared itself.
std::string difference(const ModelFile& a, const ModelFile& b) {
  for (const auto& [key, value] : a.metadata()) {
    const auto found = b.metadata().find(key);
    if (key == "general.name" || key.starts_with("quantize.")) continue;
    if (found == b.metadata().end()) return key;
    if (key.ends_with(".sliding_window_pattern")) continue;
    if (!same_meta_value(value, found->second)) return key;
  }
  if (a.tensors().size() != b.tensors().size()) return "number of tensors";
  for (const TensorInfo& tensor : a.tensors()) {
    const TensorInfo* const other = b.find_tensor(tensor.name);
    if (other == nullptr || tensor.shape != other->shape || tensor.dtype != other->dtype ||
        !std::ranges::equal(tensor.bytes, other->bytes)) {
      return tensor.name;
    }
  }
  return {};
}

class ConvertFamilies : public testing::TestWithParam<std::string> {};

TEST_P(ConvertFamilies, TheSameFileOrARefusalThatLeavesNothing) {
  const Json goldens = goldens_of(GetParam());
  const TestFolder root;
  int n_written = 0;
  for (const Json& golden : goldens) {
    if (golden.contains("refused_by")) continue;
    const std::string at = root.path() + "/" + std::to_string(n_written);
    SCOPED_TRACE(golden.at("config").dump());
    fs::remove_all(at);
    write_folder(at + "/first", golden);
    ASSERT_EQ(to_gguf(at + "/first", at + "/first.gguf").message(), "");
    const auto folder = convert_to_folder(at + "/first.gguf", at + "/last", one_thread());
    if (!folder) {
      EXPECT_EQ(folder.error().code(), Code::unsupported) << folder.error().message();
      EXPECT_FALSE(fs::exists(at + "/last") || fs::exists(at + "/last.partial"));
      continue;
    }
    ASSERT_EQ(to_gguf(at + "/last", at + "/last.gguf").message(), "");
    const auto first = ModelFile::open(at + "/first.gguf"),
               last = ModelFile::open(at + "/last.gguf");
    ASSERT_TRUE(first && last);
    EXPECT_EQ(difference(**first, **last), "");
    ++n_written;
  }
  const std::set<std::string> always = {"gemma2", "llama", "olmo2", "qwen2", "qwen3", "qwen3moe"};
  if (always.contains(GetParam())) {
    EXPECT_GE(n_written, 2) << GetParam();
  }
}

std::vector<std::string> golden_names() {
  std::vector<std::string> names;
  for (const auto& file : fs::directory_iterator(RUV_SOURCE_DIR "/tests/golden/families")) {
    if (file.path().extension() == ".json") names.push_back(file.path().stem());
  }
  std::ranges::sort(names);
  return names;
}
INSTANTIATE_TEST_SUITE_P(Goldens, ConvertFamilies, testing::ValuesIn(golden_names()),
                         [](const auto& test) {
                           std::string name = test.param;
                           std::ranges::replace_if(
                               name, [](char c) { return c == '-' || c == '.'; }, '_');
                           return name;
                         });

class Convert : public testing::Test {
 protected:
  void SetUp() override {
    write_folder(path("folder"), golden_of("qwen2"));
    ASSERT_EQ(to_gguf(path("folder"), path("model.gguf")).message(), "");
  }
  std::string path(std::string_view name) const { return root_.path() + "/" + std::string(name); }
  Result<WrittenFolder> written(const FolderOptions& options = one_thread()) const {
    return convert_to_folder(path("model.gguf"), path("out"), options);
  }
  TestFolder root_;
};

TEST_F(Convert, WhatIsThereNeedsLeave) {
  ASSERT_TRUE(written());
  const auto again = written();
  ASSERT_FALSE(again);
  EXPECT_NE(again.error().message().find("--force"), std::string::npos);
  FolderOptions force = one_thread();
  force.replace = true;
  EXPECT_TRUE(written(force)) << written(force).error().message();
  EXPECT_FALSE(fs::exists(path("out.partial")) || fs::exists(path("out.old.partial")));
  // A folder of other things stays, and one with the file that is read.
  fs::remove(path("out/config.json"));
  EXPECT_FALSE(written(force));
  EXPECT_FALSE(convert_to_folder(path("model.gguf"), path("model.gguf"), force));
  fs::rename(path("model.gguf"), path("folder/model.gguf"));
  EXPECT_FALSE(convert_to_folder(path("folder/model.gguf"), path("folder"), force));
  EXPECT_TRUE(fs::exists(path("folder/model.gguf")));
}

TEST_F(Convert, ShardsAreOfTheSizeThatIsAsked) {
  FolderOptions options = one_thread();
  options.shard_bytes = 8192;
  const auto folder = written(options);
  ASSERT_TRUE(folder) << folder.error().message();
  EXPECT_GT(folder->n_files, 2);
  int64_t n_files = 0;
  for (const auto& file : fs::directory_iterator(path("out"))) {
    if (file.path().extension() == ".safetensors") ++n_files;
  }
  EXPECT_EQ(n_files, folder->n_files);
  ASSERT_EQ(to_gguf(path("out"), path("again.gguf")).message(), "");
  const auto first = ModelFile::open(path("model.gguf")),
             last = ModelFile::open(path("again.gguf"));
  ASSERT_TRUE(first && last);
  EXPECT_EQ(difference(**first, **last), "");
}

TEST_F(Convert, BlocksAreDecodedOnlyWhereItIsAsked) {
  fs::remove_all(path("folder"));
  write_folder(path("folder"), golden_of("llama", "llama_14"));
  const auto file = ModelFile::open(path("folder"));
  ASSERT_TRUE(file);
  ASSERT_EQ(quantize_model(**file, "q8_0", path("small.gguf"), {}).message(), "");
  const auto small = ModelFile::open(path("small.gguf"));
  ASSERT_TRUE(small);
  ASSERT_TRUE(std::ranges::any_of((*small)->tensors(), [](const TensorInfo& tensor) {
    return format_of(tensor.dtype).block_size > 1;
  }));
  const auto refused = convert_to_folder(path("small.gguf"), path("out"), one_thread());
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message().find("--dequantize"), std::string::npos);
  FolderOptions options = one_thread();
  options.dequantized = DType::f32;
  const auto folder = convert_to_folder(path("small.gguf"), path("out"), options);
  ASSERT_TRUE(folder) << folder.error().message();
  ASSERT_EQ(to_gguf(path("out"), path("again.gguf")).message(), "");
  const auto again = ModelFile::open(path("again.gguf"));
  for (const TensorInfo& tensor : (*small)->tensors()) {
    const TensorInfo* const other = (*again)->find_tensor(tensor.name);
    ASSERT_NE(other, nullptr) << tensor.name;
    const auto n = static_cast<size_t>(tensor.n_elements());
    std::vector<float> a(n), b(n);
    format_of(tensor.dtype).decode(tensor.bytes.data(), a.data(), tensor.n_elements());
    format_of(other->dtype).decode(other->bytes.data(), b.data(), other->n_elements());
    EXPECT_EQ(a, b) << tensor.name;
  }
}

TEST_F(Convert, StoppedCallsLeaveNothing) {
  FolderOptions options = one_thread();
  options.on_tensor = [](const FolderStep& step) { return step.index < 3; };
  const auto folder = written(options);
  ASSERT_FALSE(folder);
  EXPECT_EQ(folder.error().code(), Code::cancelled);
  EXPECT_FALSE(fs::exists(path("out")) || fs::exists(path("out.partial")));
}

// A file of these keys, whose numbers no config has, is refused.
TEST(ConvertHostile, AbsurdKeysAreRefused) {
  const TestFolder root;
  struct Case {
    const char* key;
    uint32_t value;
  };
  for (const auto& [key, value] :
       {Case{"llama.block_count", 0xFFFFFFFF}, Case{"llama.embedding_length", 0},
        Case{"llama.attention.head_count", 0x7FFFFFFF}, Case{"llama.expert_count", 0x40000000},
        Case{"llama.no_such_key", 7}}) {
    GgufBuilder builder(3, 1, 6);
    builder.text_entry("general.architecture", "llama");
    builder.u32_entry(key, value);
    for (const char* usual : {"llama.block_count", "llama.embedding_length",
                              "llama.attention.head_count", "llama.feed_forward_length"}) {
      if (std::string_view(usual) != key)
        builder.u32_entry(usual, 8);
      else
        builder.u32_entry("general.filler", 1);
    }
    builder.tensor("token_embd.weight", {8, 4}, 0, 0).data(32, 128);
    const std::string file = root.write("hostile.gguf", builder.bytes());
    const auto folder = convert_to_folder(file, root.path() + "/out", one_thread());
    ASSERT_FALSE(folder) << key;
    EXPECT_TRUE(folder.error().message().starts_with(file)) << folder.error().message();
    EXPECT_FALSE(fs::exists(root.path() + "/out") || fs::exists(root.path() + "/out.partial"));
  }
}

TEST(ConvertHostile, WhatHasNoFolderIsNamed) {
  const TestFolder root;
  const Json golden = golden_of("gpt_neo");
  ASSERT_FALSE(golden.is_null());
  write_folder(root.path() + "/folder", golden);
  const std::string file = root.path() + "/model.gguf";
  ASSERT_TRUE(to_gguf(root.path() + "/folder", file).ok());
  const auto folder = convert_to_folder(file, root.path() + "/out", one_thread());
  ASSERT_FALSE(folder);
  EXPECT_EQ(folder.error().code(), Code::unsupported);
  EXPECT_NE(folder.error().message().find("family"), std::string::npos) << folder.error().message();
}

}  // namespace
}  // namespace ruv::convert_test
