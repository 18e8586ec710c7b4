// Limits of control groups, from small trees of files like those that the system shows.
#include "base/posix/memory_limit.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/machine.h"

namespace ruv {
namespace {

class MemoryLimit : public testing::Test {
 protected:
  void SetUp() override { std::filesystem::remove_all(root_); }
  void TearDown() override { std::filesystem::remove_all(root_); }
  void put(const std::string& path, const std::string& text) const {
    const std::filesystem::path file = root_ + path;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text;
  }
  std::optional<int64_t> limit(std::string_view groups) const {
    return memory_limit(groups, root_);
  }
  const std::string root_ = testing::TempDir() + "ruv_groups_" + std::to_string(getpid());
};

TEST_F(MemoryLimit, IsTheLeastOfAGroupAndThoseItIsIn) {
  put("/a/memory.max", "3000\n");
  put("/a/b/memory.max", "max\n");
  put("/a/b/c/memory.max", "5000\n");
  EXPECT_EQ(limit("0::/a/b/c\n"), 3000);
  EXPECT_EQ(limit("0::/a/b/c/not/seen/from/here\n"), 3000);
  EXPECT_EQ(limit("0::/b\n"), std::nullopt);
  put("/memory.max", "1000\n");  // a container sees its own group as the root
  EXPECT_EQ(limit("0::/\n"), 1000);
  EXPECT_EQ(limit("0::/a"), 1000);
}

TEST_F(MemoryLimit, IsReadFromBothVersions) {
  put("/memory/box/memory.limit_in_bytes", "7000\n");
  put("/memory/memory.limit_in_bytes", "9223372036854771712\n");
  put("/unified/box/memory.max", "8000\n");
  put("/cpu/box/memory.limit_in_bytes", "1\n");
  EXPECT_EQ(limit("5:cpu,memory:/box\n4:cpu:/box\n"), 7000);
  EXPECT_EQ(limit("4:cpu:/box\n0::/box\n"), 8000);
  EXPECT_EQ(limit("4:memory:/other\n"), 9223372036854771712);
}

TEST_F(MemoryLimit, IgnoresWhatIsNoLimit) {
  put("/memory.max", "many\n");
  put("/a/memory.max", "-1\n");
  put("/b/memory.max", "");
  for (const char* groups : {"", ":", "::", "0::", "0::a", "0::/", "0::/a", "0::/b", "\n\n0::/a\n"})
    EXPECT_EQ(limit(groups), std::nullopt) << groups;
}

// The limit less what is not of files: those of 100 bytes less the 40 that processes share.
TEST_F(MemoryLimit, LeavesFilesWhatTheGroupDoesNotUseOtherwise) {
  put("/a/memory.max", "1000\n");
  put("/a/memory.current", "300\n");
  put("/a/memory.stat", "anon 200\nfile_mapped 7\nfile 100\nshmem 40\n");
  EXPECT_EQ(file_memory_limit("0::/a\n", root_), 760);
  put("/a/b/memory.max", "max\n");
  put("/a/b/memory.current", "30\n");
  EXPECT_EQ(file_memory_limit("0::/a/b\n", root_), 760);
  put("/a/memory.current", "5000\n");
  EXPECT_EQ(file_memory_limit("0::/a\n", root_), 0);
  put("/memory/box/memory.limit_in_bytes", "7000\n");
  EXPECT_EQ(file_memory_limit("5:memory:/box\n", root_), std::nullopt);
  put("/memory/box/memory.usage_in_bytes", "6000\n");
  put("/memory/box/memory.stat", "cache 1\ntotal_cache 5000\ntotal_shmem 0\n");
  EXPECT_EQ(file_memory_limit("5:memory:/box\n", root_), 6000);
}

TEST(SystemText, NumbersHaveANameBefore) {
  const std::string text = "MemTotal:  12 kB\nMemAvailable:\t345 kB\nMemAvailableX: 9\nEmpty:\n";
  EXPECT_EQ(number_after(text, "MemAvailable:"), 345);
  EXPECT_EQ(number_after(text, "MemTotal:"), 12);
  EXPECT_EQ(number_after(text, "Mem"), std::nullopt);
  EXPECT_EQ(number_after(text, "Empty:"), std::nullopt);
  EXPECT_EQ(number_after("", "Mem"), std::nullopt);
}

TEST(Machine, HasMemory) {
  EXPECT_GT(file_memory_bytes(), int64_t{1} << 20);
  EXPECT_LE(file_memory_bytes(), machine_memory_bytes());
  EXPECT_GT(machine_memory_bytes(), int64_t{1} << 20);
  if (const auto limit = memory_limit()) {
    EXPECT_LE(machine_memory_bytes(), *limit);
  }
}

}  // namespace
}  // namespace ruv
