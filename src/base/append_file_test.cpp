// Appends are whole or not there; what is no plain file of ours is refused.
#include "base/append_file.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>

namespace ruv {
namespace {

namespace fs = std::filesystem;

class AppendFiles : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "ruv-append-XXXXXX").string();
    root_ = ::mkdtemp(name.data());
  }
  void TearDown() override { fs::remove_all(root_); }
  std::string path(const char* name) const { return root_ + "/" + name; }
  static std::string text_at(const AppendFile& file, uint64_t offset, size_t n) {
    std::string text(n, '?');
    const Status status = file.read(offset, std::as_writable_bytes(std::span(text)));
    return status.ok() ? text : status.message();
  }
  std::string root_;
};

TEST_F(AppendFiles, PartsFollowEachOther) {
  AppendFile file = std::move(*AppendFile::create(path("a")));
  ASSERT_TRUE(file.append({as_bytes("one"), as_bytes(""), as_bytes("two"), as_bytes("!")}).ok());
  ASSERT_TRUE(file.append({}).ok());
  ASSERT_TRUE(file.append({as_bytes("three")}).ok());
  EXPECT_EQ(file.n_bytes(), 12U);
  EXPECT_EQ(text_at(file, 0, 12), "onetwo!three");
  std::string first(2, '?'), second(5, '?');
  ASSERT_TRUE(file.read(5, std::as_writable_bytes(std::span(first)),
                        std::as_writable_bytes(std::span(second)))
                  .ok());
  EXPECT_EQ(first + second, "o!three");
  EXPECT_TRUE(file.sync().ok());
  EXPECT_TRUE(sync_folder(root_).ok());
  const AppendFile again = std::move(*AppendFile::open(path("a")));
  EXPECT_EQ(again.n_bytes(), 12U);
  EXPECT_EQ(fs::status(path("a")).permissions(), fs::perms::owner_read | fs::perms::owner_write);
}

TEST_F(AppendFiles, ReadingBehindTheEndIsCorrupt) {
  AppendFile file = std::move(*AppendFile::create(path("a")));
  ASSERT_TRUE(file.append({as_bytes("12345")}).ok());
  std::vector<std::byte> bytes(6);
  const Status status = file.read(0, bytes);
  EXPECT_EQ(status.code(), Code::corrupt);
  EXPECT_EQ(status.message(), path("a") + ": ends at byte 5");
  EXPECT_TRUE(file.cut(2).ok());
  EXPECT_EQ(text_at(file, 0, 2), "12");
  ASSERT_TRUE(file.append({as_bytes("x")}).ok());
  EXPECT_EQ(text_at(file, 0, 3), "12x");
}

TEST_F(AppendFiles, OnlyPlainFilesAreOpened) {
  { ASSERT_TRUE(AppendFile::create(path("a")).has_value()); }
  EXPECT_EQ(AppendFile::create(path("a")).error().code(), Code::invalid);
  EXPECT_EQ(AppendFile::open(path("none")).error().code(), Code::not_found);
  EXPECT_EQ(AppendFile::create(path("none/a")).error().code(), Code::not_found);
  fs::create_symlink(path("a"), path("link"));
  EXPECT_EQ(AppendFile::open(path("link")).error().code(), Code::invalid);
  EXPECT_EQ(AppendFile::open(path("link")).error().message(),
            path("link") + ": cannot open: a symbolic link");
  EXPECT_EQ(AppendFile::create(path("link")).error().code(), Code::invalid);
  EXPECT_EQ(FileLock::take(path("link")).error().code(), Code::invalid);
  fs::create_directory(path("folder"));
  EXPECT_EQ(AppendFile::open(path("folder")).error().code(), Code::invalid);
  EXPECT_EQ(AppendFile::open("/dev/null").error().code(), Code::invalid);
}

// A limit on the file's size stands for a full disk: the same short write, then an error.
TEST_F(AppendFiles, FullDiskLeavesTheFileAsItWas) {
  AppendFile file = std::move(*AppendFile::create(path("a")));
  ASSERT_TRUE(file.append({as_bytes("begin")}).ok());
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto ignored = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit small{100, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  const std::string large(200, 'x');
  const Status status = file.append({as_bytes("y"), as_bytes(large)});
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  std::signal(SIGXFSZ, ignored);
  EXPECT_EQ(status.code(), Code::out_of_memory);
  EXPECT_EQ(file.n_bytes(), 5U);
  EXPECT_EQ(fs::file_size(path("a")), 5U);
  ASSERT_TRUE(file.append({as_bytes(large)}).ok());
  EXPECT_EQ(text_at(file, 0, 6), "beginx");
}

TEST_F(AppendFiles, OneHolderHasTheLock) {
  {
    const Result<FileLock> lock = FileLock::take(path("lock"));
    ASSERT_TRUE(lock.has_value());
    EXPECT_EQ(FileLock::take(path("lock")).error().code(), Code::unavailable);
  }
  EXPECT_TRUE(FileLock::take(path("lock")).has_value());
}

}  // namespace
}  // namespace ruv
