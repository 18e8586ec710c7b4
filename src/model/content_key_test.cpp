// The key of a model's content: the same for the same weights wherever and whenever they were
// written, another for everything that changes a page.
#include "model/content_key.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "device/cpu/cpu_packing.h"
#include "fault/damage.h"
#include "format/gguf_writer.h"
#include "format/quantize.h"

namespace ruv {
namespace {

namespace fs = std::filesystem;

class ContentKeys : public testing::Test {
 protected:
  void SetUp() override {
    fs::create_directories(root_);
    fs::copy_file(RUV_SOURCE_DIR "/tests/golden/models/llama2/model.gguf", path_);
  }
  void TearDown() override { fs::remove_all(root_); }

  static ContentKey key_of(const std::string& path, const Kernels& table = kernels()) {
    const auto file = ModelFile::open(path);
    EXPECT_TRUE(file.has_value()) << file.error().message();
    return content_key(**file, CpuPacking(table));
  }
  // Where a tensor's bytes begin in the file.
  uint64_t place_of(std::string_view tensor, uint64_t& n_bytes) const {
    const auto file = ModelFile::open(path_);
    const Bytes bytes = (*file)->find_tensor(tensor)->bytes;
    n_bytes = bytes.size();
    return static_cast<uint64_t>(bytes.data() - (*file)->files()[0].bytes().data());
  }
  void flip_lowest_bit(uint64_t at) const { flip_bits(path_, at, 1); }

  const std::string root_ = testing::TempDir() + "ruv_content_" + std::to_string(getpid());
  const std::string path_ = root_ + "/model.gguf";
};

TEST_F(ContentKeys, TimesAndPlacesDoNotMatter) {
  const ContentKey key = key_of(path_);
  EXPECT_EQ(key_of(path_), key);
  EXPECT_NE(key.words[0], key.words[1]) << "two hashes";
  fs::last_write_time(path_, fs::last_write_time(path_) + std::chrono::hours(1));
  EXPECT_EQ(key_of(path_), key);
  fs::copy_file(path_, root_ + "/copy.gguf");
  EXPECT_EQ(key_of(root_ + "/copy.gguf"), key);
}

TEST_F(ContentKeys, ChangedWeightsAreSeenInEachPiece) {
  const ContentKey key = key_of(path_);
  for (const char* tensor : {"token_embd.weight", "blk.0.ffn_down.weight", "output_norm.weight"}) {
    uint64_t n_bytes = 0;
    const uint64_t begin = place_of(tensor, n_bytes);
    const uint64_t n_piece = std::min(kSampledPieceBytes, n_bytes);
    for (uint64_t piece = 0; piece < kSampledPieces; ++piece) {
      const uint64_t at = begin + (n_bytes - n_piece) * piece / (kSampledPieces - 1) + n_piece / 2;
      flip_lowest_bit(at);
      EXPECT_NE(key_of(path_), key) << tensor << " byte " << at - begin;
      flip_lowest_bit(at);
    }
    flip_lowest_bit(begin + n_bytes - 1);
    EXPECT_NE(key_of(path_), key) << tensor << ": the last byte";
    flip_lowest_bit(begin + n_bytes - 1);
  }
  EXPECT_EQ(key_of(path_), key);
}

// Far longer than its pieces, so that each stands for itself.
TEST_F(ContentKeys, ThePiecesOfALargeTensorAreSpreadOverIt) {
  const std::string path = root_ + "/large.gguf";
  constexpr uint64_t kBytes = 1 << 20;
  const int64_t shape[] = {512, 512};
  auto out = GgufWriter::create(path);
  ASSERT_TRUE(out);
  out->add_text("general.architecture", "llama");
  out->declare_tensor("token_embd.weight", DType::f32, shape);
  ASSERT_TRUE(out->begin_tensors().ok());
  ASSERT_TRUE(out->write(std::vector<std::byte>(kBytes)).ok());
  ASSERT_TRUE(out->commit().ok());
  const ContentKey key = key_of(path);
  const uint64_t begin = fs::file_size(path) - kBytes;
  const auto is_seen = [&](uint64_t at) {
    flip_bits(path, begin + at, 1);
    const bool seen = !(key_of(path) == key);
    flip_bits(path, begin + at, 1);
    return seen;
  };
  for (uint64_t piece = 0; piece < kSampledPieces; ++piece) {
    const uint64_t at = (kBytes - kSampledPieceBytes) * piece / (kSampledPieces - 1);
    EXPECT_TRUE(is_seen(at + kSampledPieceBytes / 2)) << piece;
  }
  EXPECT_TRUE(is_seen(0));
  EXPECT_TRUE(is_seen(kBytes - 1));
  EXPECT_FALSE(is_seen(kBytes / 2)) << "between two pieces";
}

TEST_F(ContentKeys, ChangedMetadataIsSeen) {
  const ContentKey key = key_of(path_);
  std::ifstream file(path_, std::ios::binary);
  const std::string bytes(std::istreambuf_iterator<char>(file), {});
  const std::string name = "llama.attention.layer_norm_rms_epsilon";
  const size_t at = bytes.find(name);
  ASSERT_NE(at, std::string::npos);
  flip_lowest_bit(at + name.size() + sizeof(uint32_t));  // behind the value's type
  EXPECT_NE(key_of(path_), key);
}

TEST_F(ContentKeys, QuantisationContainerAndKernelsAreSeen) {
  std::vector<ContentKey> keys = {key_of(path_),
                                  key_of(RUV_SOURCE_DIR "/tests/golden/models/llama2")};
  const auto file = ModelFile::open(path_);
  for (const char* type : {"q8_0", "q4_0"}) {
    const std::string path = root_ + "/" + type + ".gguf";
    const Status status = quantize_model(**file, type, path);
    ASSERT_TRUE(status.ok()) << status.message();
    keys.push_back(key_of(path));
  }
  for (const Kernels* table : all_kernels()) {
    if (table != &kernels()) keys.push_back(key_of(path_, *table));
  }
  for (size_t i = 0; i < keys.size(); ++i) {
    for (size_t j = 0; j < i; ++j) EXPECT_NE(keys[i], keys[j]) << i << " and " << j;
  }
}

}  // namespace
}  // namespace ruv
