// Files that are cut while they are mapped, in this process: its handler stays for the other tests.
#include "base/mapped_ranges.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "base/file.h"

namespace ruv {
namespace {

class MappedRanges : public testing::Test {
 protected:
  void SetUp() override { std::filesystem::create_directories(root_); }
  void TearDown() override { std::filesystem::remove_all(root_); }
  // A file of eight pages of 'a'.
  std::string made(const char* name) const {
    const std::string path = root_ + "/" + name;
    std::ofstream(path) << std::string(8 * page_, 'a');
    return path;
  }
  const std::string root_ = testing::TempDir() + "ruv_ranges_" + std::to_string(getpid());
  const size_t page_ = static_cast<size_t>(sysconf(_SC_PAGESIZE));
};

char at(const MappedFile& file, size_t offset) {
  return static_cast<char>(*static_cast<const volatile std::byte*>(file.bytes().data() + offset));
}

TEST_F(MappedRanges, ACutFileIsMarkedAndTheProcessGoesOn) {
  guard_mapped_files();
  const auto cut = MappedFile::open(made("cut"));
  const auto other = MappedFile::open(made("other"));
  ASSERT_TRUE(cut.has_value() && other.has_value());
  std::filesystem::resize_file(cut->path(), page_ + 1);
  EXPECT_EQ(at(*cut, page_), 'a');
  EXPECT_EQ(at(*cut, page_ + 1), '\0') << "the rest of the last page needs no fault";
  EXPECT_FALSE(cut->is_damaged());
  // In another thread, as an engine's are.
  std::thread([&] { EXPECT_EQ(at(*cut, 5 * page_ + 7), '\0'); }).join();
  EXPECT_TRUE(cut->is_damaged());
  EXPECT_EQ(at(*cut, 8 * page_ - 1), '\0');
  EXPECT_EQ(at(*cut, 0), 'a');
  EXPECT_EQ(cut->check_read().code(), Code::internal);
  EXPECT_NE(cut->check_read().message().find(cut->path()), std::string::npos);
  EXPECT_FALSE(other->is_damaged());
  EXPECT_TRUE(other->check_read().ok());
  EXPECT_EQ(at(*other, 8 * page_ - 1), 'a');
}

TEST_F(MappedRanges, TheMarkMovesWithTheFileAndEndsWithIt) {
  guard_mapped_files();
  const std::string path = made("cut");
  {
    auto file = MappedFile::open(path);
    ASSERT_TRUE(file.has_value());
    std::filesystem::resize_file(path, 0);
    EXPECT_EQ(at(*file, 0), '\0');
    const MappedFile moved = std::move(*file);
    EXPECT_TRUE(moved.is_damaged());
    EXPECT_FALSE(file->is_damaged());
  }
  const auto again = MappedFile::open(made("cut"));
  ASSERT_TRUE(again.has_value());
  EXPECT_FALSE(again->is_damaged()) << "though it may have the same place in the list";
}

using MappedRangesDeathTest = MappedRanges;

TEST_F(MappedRangesDeathTest, FaultsElsewhereEndTheProcess) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  const std::string path = made("unknown");
  // A sanitizer has a handler of its own, which would get the signal.
  const auto guard = [] {
    ::signal(SIGBUS, SIG_DFL);
    guard_mapped_files();
  };
  const auto touch_unknown = [&] {
    guard();
    const int fd = ::open(path.c_str(), O_RDONLY);
    void* const start = ::mmap(nullptr, 8 * page_, PROT_READ, MAP_PRIVATE, fd, 0);
    std::filesystem::resize_file(path, 0);
    const char c = *static_cast<volatile char*>(start);
    std::_Exit(c);
  };
  EXPECT_EXIT(touch_unknown(), testing::KilledBySignal(SIGBUS), "");
  EXPECT_EXIT((guard(), ::raise(SIGBUS)), testing::KilledBySignal(SIGBUS), "");
}

}  // namespace
}  // namespace ruv
