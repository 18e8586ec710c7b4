// Tensors that are quantised as they are read: the same blocks as in a file of that type.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>

#include "format/gguf_builder.h"
#include "format/quantize.h"
#include "format/test_folder.h"

namespace ruv {
namespace {

constexpr const char* kLlamaFolder = RUV_SOURCE_DIR "/tests/golden/models/llama3";

std::vector<std::byte> blocks_of(const TensorInfo& tensor, int64_t row) {
  std::vector<std::byte> bytes(
      static_cast<size_t>(format_of(tensor.dtype).bytes_of(tensor.shape.back())));
  tensor.copy_row(row, bytes.data());
  return bytes;
}

TEST(WeightType, RowsAreThoseOfAQuantisedFile) {
  const TestFolder folder;
  const std::string plain = folder.path() + "/plain.gguf";
  ASSERT_TRUE(quantize_model(**ModelFile::open(kLlamaFolder), "f32", plain).ok());
  for (const char* type : {"q8_0", "q4_k_m", "iq4_xs", "bf16"}) {
    const std::string path = fmt::format("{}/{}.gguf", folder.path(), type);
    const auto opened = ModelFile::open(plain);
    ASSERT_TRUE(quantize_model(**opened, type, path).ok());
    const auto file = ModelFile::open(path);
    ASSERT_TRUE(file.has_value()) << file.error().message();
    ASSERT_TRUE((*opened)->set_weight_type(type).ok());
    int64_t n_changed = 0;
    for (const TensorInfo& tensor : (*opened)->tensors()) {
      SCOPED_TRACE(std::string(type) + " " + tensor.name);
      const TensorInfo* const written = (*file)->find_tensor(tensor.name);
      ASSERT_NE(written, nullptr);
      ASSERT_EQ(tensor.dtype, written->dtype);
      EXPECT_EQ((*opened)->find_stored(tensor.name)->dtype, DType::f32);
      n_changed += tensor.dtype != DType::f32;
      for (int64_t row = 0; row < tensor.n_rows(); ++row)
        ASSERT_EQ(blocks_of(tensor, row), blocks_of(*written, row)) << row;
    }
    EXPECT_GT(n_changed, 5);
    ASSERT_TRUE((*opened)->set_weight_type("").ok());
    for (const TensorInfo& tensor : (*opened)->tensors()) EXPECT_EQ(tensor.dtype, DType::f32);
  }
}

TEST(WeightType, UnknownOnesAreNamed) {
  const auto file = ModelFile::open(kLlamaFolder);
  const Status status = (*file)->set_weight_type("q9_x");
  EXPECT_EQ(status.code(), Code::invalid);
  EXPECT_NE(status.message().find("'q9_x'"), std::string::npos) << status.message();
  EXPECT_NE(status.message().find("q4_k_m"), std::string::npos) << status.message();
}

// Rows of 256 numbers: narrower ones fall back to types that need nothing.
TEST(WeightType, TypesThatNeedImportanceSaySo) {
  const TestFolder folder;
  GgufBuilder builder(3, 1, 1);
  builder.text_entry("general.architecture", "qwen2");
  builder.tensor("blk.0.ffn_up.weight", {256, 1}, 0, 0).data(32, 1024);
  std::ofstream(folder.path() + "/wide.gguf") << builder.bytes();
  const auto file = ModelFile::open(folder.path() + "/wide.gguf");
  ASSERT_TRUE(file.has_value()) << file.error().message();
  const Status status = (*file)->set_weight_type("iq2_xxs");
  EXPECT_EQ(status.code(), Code::invalid);
  EXPECT_NE(status.message().find("--imatrix"), std::string::npos) << status.message();
  EXPECT_TRUE((*file)->weight_type().empty());
  EXPECT_EQ((*file)->find_tensor("blk.0.ffn_up.weight")->dtype, DType::f32);
  ASSERT_TRUE((*file)->set_weight_type("q4_k_m").ok());
  EXPECT_EQ((*file)->find_tensor("blk.0.ffn_up.weight")->dtype, DType::q4_k);
}

// A number that no block can hold is named after its row was asked for.
TEST(WeightType, NumbersThatCannotBeHeldAreNamed) {
  const TestFolder folder;
  const std::string plain = folder.path() + "/plain.gguf";
  ASSERT_TRUE(quantize_model(**ModelFile::open(kLlamaFolder), "f32", plain).ok());
  int64_t offset = 0;
  {
    const auto file = ModelFile::open(plain);
    const TensorInfo& tensor = *(*file)->find_tensor("blk.0.ffn_up.weight");
    offset = tensor.bytes.data() - (*file)->files().front().bytes().data();
  }
  const float bad = 1e6F;
  std::fstream out(plain, std::ios::in | std::ios::out | std::ios::binary);
  out.seekp(offset + 4 * 3);
  out.write(reinterpret_cast<const char*>(&bad), sizeof bad);
  out.close();
  const auto file = ModelFile::open(plain);
  ASSERT_TRUE((*file)->set_weight_type("q8_0").ok());
  const TensorInfo& tensor = *(*file)->find_tensor("blk.0.ffn_up.weight");
  (void)blocks_of(tensor, 1);
  EXPECT_TRUE(tensor.maker->status().ok());
  (void)blocks_of(tensor, 0);
  const Status status = tensor.maker->status();
  EXPECT_EQ(status.code(), Code::invalid);
  EXPECT_NE(status.message().find("'blk.0.ffn_up.weight', row 0, column 3"), std::string::npos)
      << status.message();
}

}  // namespace
}  // namespace ruv
