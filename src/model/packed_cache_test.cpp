#include "model/packed_cache.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <set>

namespace ruv::packed_cache_test {
namespace {

constexpr PackedKey kKey{{1, 2}};
constexpr int64_t kMiB = int64_t{1} << 20;

class PackedCaches : public testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::create_directories(root_);
    options_.packed_cache_dir = root_ + "/cache";
    options_.packed_cache_max_bytes = 100 * kMiB;
    options_.packed_cache_min_bytes = 0;
    options_.packed_cache_reserve_bytes = 0;
    options_.note = [this](NoteKind kind, std::string_view text) {
      if (kind == NoteKind::problem) problems_.emplace_back(text);
    };
  }
  void TearDown() override { std::filesystem::remove_all(root_); }

  // A file of that many bytes, last used `age` hours ago.
  void put(const std::string& name, int64_t n_bytes, int age) const {
    std::filesystem::create_directories(options_.packed_cache_dir);
    const std::string path = options_.packed_cache_dir + "/" + name;
    std::ofstream(path) << "x";
    std::filesystem::resize_file(path, static_cast<uintmax_t>(n_bytes));
    const auto now = std::filesystem::file_time_type::clock::now();
    std::filesystem::last_write_time(path, now - std::chrono::hours(age));
  }
  std::set<std::string> names() const {
    std::set<std::string> result;
    for (const auto& entry : std::filesystem::directory_iterator(options_.packed_cache_dir))
      result.insert(entry.path().filename().string());
    return result;
  }
  // Writes the file of kKey with one matrix.
  bool write(int64_t n_bytes) {
    const PackedCache cache(options_);
    const auto writer = cache.begin(kKey, n_bytes);
    if (writer == nullptr) return false;
    EXPECT_TRUE(writer->begin({.name = "m", .n_bytes = static_cast<uint64_t>(n_bytes)}));
    for (int64_t at = 0; at < n_bytes; at += kMiB) EXPECT_TRUE(writer->next(kMiB));
    return writer->flush().ok() && cache.publish(kKey, *writer);
  }
  bool finds() {
    WorkerPool pool(2);
    return PackedCache(options_).find(kKey, pool).has_value();
  }

  const std::string root_ = testing::TempDir() + "ruv_cache_" + std::to_string(getpid());
  LoadOptions options_;
  std::vector<std::string> problems_;
};

TEST_F(PackedCaches, TakeOnlyWhatPays) {
  options_.packed_cache_min_bytes = 10;
  EXPECT_TRUE(PackedCache(options_).takes(10));
  EXPECT_FALSE(PackedCache(options_).takes(9));
  options_.packed_cache_dir.clear();
  EXPECT_FALSE(PackedCache(options_).takes(10));
}

TEST_F(PackedCaches, MakeTheFolderAndFindAgain) {
  EXPECT_FALSE(finds());
  ASSERT_TRUE(write(5 * kMiB));
  EXPECT_EQ(names(), std::set<std::string>{kKey.text() + ".ruvpack"});
  EXPECT_TRUE(finds());
  EXPECT_TRUE(problems_.empty()) << problems_.front();
}

TEST_F(PackedCaches, RemoveTheDamagedAndSayIt) {
  ASSERT_TRUE(write(5 * kMiB));
  const std::string path = options_.packed_cache_dir + "/" + kKey.text() + ".ruvpack";
  std::filesystem::resize_file(path, 4 * kMiB);
  EXPECT_FALSE(finds());
  EXPECT_TRUE(names().empty());
  ASSERT_EQ(problems_.size(), 1U);
  EXPECT_NE(problems_[0].find(path), std::string::npos) << problems_[0];
  EXPECT_TRUE(write(5 * kMiB)) << "and write it again";
  EXPECT_TRUE(finds());
}

TEST_F(PackedCaches, EvictTheLongestUnusedFirst) {
  put("a.ruvpack", 30 * kMiB, 3);
  put("b.ruvpack", 30 * kMiB, 5);
  put("c.ruvpack", 30 * kMiB, 1);
  put("other.txt", 90 * kMiB, 9);
  put("dead.ruvpack.partial", kMiB, 8);
  put("young.ruvpack.partial", kMiB, 0);
  ASSERT_TRUE(write(20 * kMiB));
  const std::string own = kKey.text() + ".ruvpack";
  EXPECT_EQ(names(), (std::set<std::string>{"a.ruvpack", "c.ruvpack", "other.txt", own,
                                            "young.ruvpack.partial"}));
  put("a.ruvpack", 30 * kMiB, 7);
  put(own, 20 * kMiB, 6);
  ASSERT_TRUE(write(60 * kMiB)) << "its own old file does not count";
  EXPECT_EQ(names(),
            (std::set<std::string>{"c.ruvpack", "other.txt", own, "young.ruvpack.partial"}));
}

TEST_F(PackedCaches, BeingFoundIsBeingUsed) {
  ASSERT_TRUE(write(20 * kMiB));
  const std::string path = options_.packed_cache_dir + "/" + kKey.text() + ".ruvpack";
  const auto now = std::filesystem::file_time_type::clock::now();
  std::filesystem::last_write_time(path, now - std::chrono::hours(100));
  ASSERT_TRUE(finds());
  EXPECT_GT(std::filesystem::last_write_time(path), now - std::chrono::hours(1));
}

TEST_F(PackedCaches, RefuseWhatCanNeverFit) {
  put("a.ruvpack", 30 * kMiB, 3);
  EXPECT_FALSE(write(101 * kMiB));
  EXPECT_EQ(names(), std::set<std::string>{"a.ruvpack"}) << "nothing goes for it";
  ASSERT_EQ(problems_.size(), 1U);
  EXPECT_NE(problems_[0].find("more than the folder may hold"), std::string::npos) << problems_[0];
}

TEST_F(PackedCaches, LeaveRoomOnTheDisk) {
  options_.packed_cache_reserve_bytes = int64_t{1} << 60;
  EXPECT_EQ(PackedCache(options_).begin(kKey, kMiB), nullptr);
  ASSERT_EQ(problems_.size(), 1U);
  EXPECT_NE(problems_[0].find("would leave less than"), std::string::npos) << problems_[0];
  EXPECT_TRUE(names().empty());
}

TEST_F(PackedCaches, WithoutAFolderToWriteAreANote) {
  std::ofstream(root_ + "/file") << "x";
  options_.packed_cache_dir = root_ + "/file/cache";
  EXPECT_FALSE(finds());
  EXPECT_FALSE(write(kMiB));
  ASSERT_EQ(problems_.size(), 1U);
  EXPECT_NE(problems_[0].find(root_ + "/file"), std::string::npos) << problems_[0];
}

TEST_F(PackedCaches, OfTwoWritersOneWrites) {
  const PackedCache cache(options_);
  const auto first = cache.begin(kKey, kMiB);
  ASSERT_NE(first, nullptr);
  EXPECT_EQ(cache.begin(kKey, kMiB), nullptr);
  EXPECT_TRUE(problems_.empty()) << "that is no problem";
  ASSERT_TRUE(first->flush().ok());
  EXPECT_TRUE(cache.publish(kKey, *first));
  EXPECT_TRUE(finds());
}

}  // namespace
}  // namespace ruv::packed_cache_test
