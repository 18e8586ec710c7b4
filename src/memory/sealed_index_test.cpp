// An encrypted index answers as a plain one does, has no number of its vectors or ids in clear, and
// each changed byte of its files is found.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/file.h"
#include "base/folder.h"
#include "base/rng.h"
#include "base/test_share.h"
#include "memory/vector_index.h"

namespace ruv::sealed_index_test {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kDims = 12;
constexpr int64_t kFirstId = 0x0123456789ABCDE0;

using Answers = std::vector<std::vector<VectorIndex::Found>>;

class SealedIndexTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / ("ruv_sealed_index_" + std::to_string(::getpid()));
    fs::remove_all(folder_);
    fs::create_directories(folder_);
    ASSERT_TRUE(start_sealing().ok());
  }
  void TearDown() override { fs::remove_all(folder_); }

  static SharedStoreKeys keys(uint8_t first = 1) {
    return std::make_shared<const StoreKeys>(SealKey{first, 2, 3});
  }
  VectorIndexOptions options(const std::string& name, SharedStoreKeys keys) const {
    VectorIndexOptions options;
    options.folder = folder_ / name;
    options.graph = {.metric = Metric::cosine, .n_dims = kDims, .m = 6, .n_looked_at = 30};
    options.graph.codes = VectorCodes::int8;
    options.label = "a model";
    options.keys = std::move(keys);
    return options;
  }
  static std::vector<float> drawn(Rng& rng, int64_t n) {
    std::vector<float> numbers;
    for (int64_t i = 0; i < n * kDims; ++i) {
      numbers.push_back(static_cast<float>(rng.uniform() - 0.5));
    }
    return numbers;
  }
  // Vectors that come and go, some of them after the graph was written.
  void change(VectorIndex& index) {
    Rng rng(5);
    for (int64_t step = 0; step < 12; ++step) {
      std::vector<int64_t> ids;
      for (int64_t i = 0; i < 20; ++i) ids.push_back(kFirstId + step * 20 + i);
      ASSERT_TRUE(index.add(ids, drawn(rng, 20), pool_).ok());
      ids.resize(7);
      ASSERT_TRUE(index.remove(ids, pool_));
      if (step == 8) {
        EXPECT_TRUE(index.checkpoint().ok());
      }
    }
  }
  // What some searches find; an error where one fails.
  static Result<Answers> answers(const VectorIndex& index) {
    Answers all;
    Rng rng(77);
    HnswSearch memory;
    for (int i = 0; i < 12; ++i) {
      all.push_back(TRY(index.search(drawn(rng, 1), {.k = 8, .n_looked_at = 20}, memory)));
    }
    return all;
  }

  fs::path folder_;
  WorkerPool pool_{1};
};

TEST_F(SealedIndexTest, AnswersAsAPlainOne) {
  const auto plain = *VectorIndex::open(options("plain", nullptr), pool_);
  auto sealed = *VectorIndex::open(options("sealed", keys()), pool_);
  change(*plain);
  change(*sealed);
  const Answers wanted = *answers(*plain);
  EXPECT_EQ(*answers(*sealed), wanted);
  EXPECT_GT(sealed->n_bytes(), plain->n_bytes());
  ASSERT_TRUE(sealed->copy_to(folder_ / "copy").ok());
  sealed.reset();
  for (const char* const name : {"sealed", "copy"}) {
    const auto opened = *VectorIndex::open(options(name, keys()), pool_);
    EXPECT_EQ(*answers(*opened), wanted);
    EXPECT_EQ(*opened->vector(kFirstId + 19), *plain->vector(kFirstId + 19));
    EXPECT_TRUE(opened->check_all(pool_).ok());
  }
}

TEST_F(SealedIndexTest, HasNothingInClear) {
  {
    const auto sealed = *VectorIndex::open(options("sealed", keys()), pool_);
    change(*sealed);
    for (int64_t id = kFirstId + 200; id < kFirstId + 240; ++id) {
      if (!sealed->has(id)) continue;
      const std::vector<float> vector = *sealed->vector(id);
      const std::string numbers(as_text(std::as_bytes(std::span(vector).first(2))));
      const std::string id_bytes(as_text(std::as_bytes(std::span(&id, 1))));
      for (const FolderEntry& file : files_in(folder_ / "sealed")) {
        const std::string bytes = *read_text_file(file.path);
        EXPECT_EQ(bytes.find(numbers), bytes.npos) << file.path;
        EXPECT_EQ(bytes.find(id_bytes), bytes.npos) << file.path;
        EXPECT_EQ(bytes.find("a model"), bytes.npos) << file.path;
      }
    }
  }
}

TEST_F(SealedIndexTest, IsOpenedWithItsKeyAlone) {
  change(**VectorIndex::open(options("sealed", keys()), pool_));
  change(**VectorIndex::open(options("plain", nullptr), pool_));
  const auto without = VectorIndex::open(options("sealed", nullptr), pool_);
  EXPECT_EQ(without.error().code(), Code::invalid);
  EXPECT_NE(without.error().message().find("encrypted, and no key is given"), std::string::npos);
  const auto with = VectorIndex::open(options("plain", keys()), pool_);
  EXPECT_EQ(with.error().code(), Code::invalid);
  EXPECT_NE(with.error().message().find("not encrypted, and a key is given"), std::string::npos);
  EXPECT_EQ(VectorIndex::open(options("sealed", keys(2)), pool_).error().code(), Code::corrupt);
  EXPECT_EQ(VectorIndex::codes_of(folder_ / "sealed", keys()).value(), VectorCodes::int8);
  EXPECT_EQ(VectorIndex::codes_of(folder_ / "sealed").error().code(), Code::invalid);
}

// Flipped bits, and files of an older state of the same index.
TEST_F(SealedIndexTest, FindsEachChangedByte) {
  Answers wanted;
  {
    const auto index = *VectorIndex::open(options("sealed", keys()), pool_);
    Rng rng(3);
    ASSERT_TRUE(index->add(std::vector<int64_t>{10, 11, 12}, drawn(rng, 3), pool_).ok());
    ASSERT_TRUE(index->checkpoint().ok());
    ASSERT_TRUE(index->add(std::vector<int64_t>{13, 14}, drawn(rng, 2), pool_).ok());
    wanted = *answers(*index);
  }
  int n_found = 0, n_harmless = 0;
  for (const FolderEntry& file : files_in(folder_ / "sealed")) {
    const std::string bytes = *read_text_file(file.path);
    const std::string copy = folder_ / "copy" / file_name_of(file.path);
    for (size_t at = 0; at < std::min<size_t>(bytes.size(), 700); at += kTestShare) {
      fs::remove_all(folder_ / "copy");
      fs::copy(folder_ / "sealed", folder_ / "copy");
      std::string changed = bytes;
      changed[at] = static_cast<char>(changed[at] ^ (1 << (at % 8)));
      std::ofstream(copy, std::ios::binary | std::ios::trunc) << changed;
      const auto opened = VectorIndex::open(options("copy", keys()), pool_);
      const Status status = opened ? (*opened)->check_all(pool_) : opened.error();
      (status.ok() ? n_harmless : n_found) += 1;
      if (status.ok()) {
        EXPECT_EQ(*answers(**opened), wanted) << copy << " " << at;
      } else {
        EXPECT_EQ(status.code(), Code::corrupt) << status.message();
      }
    }
  }
  EXPECT_GT(n_found, 500 / static_cast<int>(kTestShare));
  EXPECT_GT(n_harmless, 0);  // rows that have no vector yet
}

TEST_F(SealedIndexTest, RefusesRowsAndRecordsInOtherPlaces) {
  const std::string rows = folder_ / "sealed" / "rows-00000";
  {
    const auto index = *VectorIndex::open(options("sealed", keys()), pool_);
    Rng rng(3);
    ASSERT_TRUE(index->add(std::vector<int64_t>{10, 11, 12}, drawn(rng, 3), pool_).ok());
  }
  std::string bytes = *read_text_file(rows);
  const size_t n_row = 16 * sizeof(float) + kSealedExtraBytes;
  const std::string first = bytes.substr(0, n_row);
  bytes.replace(0, n_row, bytes, n_row, n_row);
  bytes.replace(n_row, n_row, first);
  std::ofstream(rows, std::ios::binary | std::ios::trunc) << bytes;
  const auto moved = VectorIndex::open(options("sealed", keys()), pool_);
  ASSERT_FALSE(moved);
  EXPECT_EQ(moved.error().code(), Code::corrupt);
  EXPECT_NE(moved.error().message().find("the vector of id 10 is damaged"), std::string::npos);
  VectorIndexOptions without = options("sealed", keys());
  without.removes_damaged = true;
  EXPECT_EQ((*VectorIndex::open(without, pool_))->n_damaged(), 2);
  // A log in the place of another of the same index.
  fs::remove_all(folder_ / "sealed");
  const auto index = *VectorIndex::open(options("sealed", keys()), pool_);
  fs::copy(folder_ / "sealed" / "log-0", folder_ / "older");
  Rng rng(3);
  ASSERT_TRUE(index->add(std::vector<int64_t>{10}, drawn(rng, 1), pool_).ok());
  ASSERT_TRUE(index->checkpoint().ok());
  fs::copy_file(folder_ / "older", folder_ / "sealed" / "log-1",
                fs::copy_options::overwrite_existing);
  EXPECT_EQ(VectorIndex::codes_of(folder_ / "sealed", keys()).error().code(), Code::corrupt);
}

}  // namespace
}  // namespace ruv::sealed_index_test
