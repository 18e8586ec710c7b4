// Stamps, and files that are read while they are written. (Plain reading and writing: base_test.)
#include "base/file.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace ruv {
namespace {

class Files : public testing::Test {
 protected:
  void SetUp() override { std::filesystem::create_directories(root_); }
  void TearDown() override { std::filesystem::remove_all(root_); }
  std::string path(const char* name) const { return root_ + "/" + name; }
  size_t n_files() const {
    return static_cast<size_t>(std::distance(std::filesystem::directory_iterator(root_), {}));
  }
  const std::string root_ = testing::TempDir() + "ruv_files_" + std::to_string(getpid());
};

TEST_F(Files, PrivateOnesAreTheirOwnersFromTheStart) {
  using std::filesystem::perms;
  const auto written = [&](FileReaders readers) {
    auto writer = FileWriter::create(path("p"), readers);
    const Status status = writer->write(as_bytes("text"));
    const auto begun = std::filesystem::directory_iterator(root_)->status().permissions();
    EXPECT_TRUE(status.ok() && writer->commit().ok());
    EXPECT_EQ(std::filesystem::status(path("p")).permissions(), begun);
    std::filesystem::remove(path("p"));
    return begun;
  };
  const perms own = perms::owner_read | perms::owner_write;
  EXPECT_EQ(written(FileReaders::owner), own);
  EXPECT_EQ(written(FileReaders::everyone), own | perms::group_read | perms::others_read);
}

TEST_F(Files, AdviceChangesNothing) {
  std::ofstream(path("a")) << std::string(100'000, 'a') << "end";
  const auto mapped = MappedFile::open(path("a"));
  ASSERT_TRUE(mapped.has_value());
  MappedFile::expect_read({});
  MappedFile::expect_read(mapped->bytes().subspan(5000, 1));
  MappedFile::expect_read(mapped->bytes().last(3));
  mapped->expect_full_read();
  mapped->drop_pages();
  EXPECT_EQ(as_text(mapped->bytes().last(3)), "end");
}

TEST_F(Files, StampChangesWithBytesAndAttributes) {
  std::ofstream(path("a")) << "12345";
  const auto mapped = MappedFile::open(path("a"));
  ASSERT_TRUE(mapped.has_value());
  EXPECT_EQ(mapped->stamp().n_bytes, 5U);
  EXPECT_EQ(*stamp_of(path("a")), mapped->stamp());
  // The clock of the file system ticks in milliseconds.
  usleep(20000);
  const auto time = std::filesystem::last_write_time(path("a"));
  std::ofstream(path("a")) << "54321";
  std::filesystem::last_write_time(path("a"), time);
  const auto now = stamp_of(path("a"));
  ASSERT_TRUE(now.has_value());
  EXPECT_EQ(now->modified_ns, mapped->stamp().modified_ns) << "set back";
  EXPECT_NE(now->changed_ns, mapped->stamp().changed_ns) << "cannot be set back";
  EXPECT_EQ(stamp_of(path("none")).error().code(), Code::not_found);
}

TEST_F(Files, SharedFileIsReadWhileItGrows) {
  std::shared_ptr<const MappedFile> mapping;
  {
    auto writer = SharedFileWriter::create(path("w"), 1 << 20);
    ASSERT_TRUE(writer.has_value()) << writer.error().message();
    mapping = writer->mapping();
    EXPECT_FALSE(file_exists(path("w")));
    ASSERT_TRUE(writer->write_at(10000, as_bytes("later")).ok());
    ASSERT_TRUE(writer->write_at(0, as_bytes("first")).ok());
    EXPECT_EQ(as_text(mapping->bytes().subspan(10000, 5)), "later");
    ASSERT_TRUE(writer->commit().ok());
  }
  EXPECT_EQ(n_files(), 1U);
  EXPECT_EQ(std::filesystem::file_size(path("w")), 10005U);
  std::filesystem::remove(path("w"));
  EXPECT_EQ(as_text(mapping->bytes().first(5)), "first") << "mapped pages outlive the name";
}

TEST_F(Files, SharedFileWithoutCommitLeavesNothing) {
  {
    auto writer = SharedFileWriter::create(path("w"), 4096);
    ASSERT_TRUE(writer.has_value());
    ASSERT_TRUE(writer->write_at(0, as_bytes("half")).ok());
  }
  EXPECT_EQ(n_files(), 0U);
}

TEST_F(Files, SharedFileHasOneWriterAtATime) {
  auto first = SharedFileWriter::create(path("w"), 4096);
  ASSERT_TRUE(first.has_value());
  const auto second = SharedFileWriter::create(path("w"), 4096);
  ASSERT_FALSE(second.has_value());
  EXPECT_EQ(second.error().code(), Code::unavailable);
  ASSERT_TRUE(first->write_at(0, as_bytes("whole")).ok());
  ASSERT_TRUE(first->commit().ok());
  EXPECT_EQ(*read_text_file(path("w")), "whole");
  EXPECT_TRUE(SharedFileWriter::create(path("w"), 4096).has_value()) << "the next may begin";
  EXPECT_EQ(*read_text_file(path("w")), "whole") << "and has not touched what is there";
}

TEST_F(Files, SharedFileTakesOverWhatADeadProcessLeft) {
  std::ofstream(path("w.partial")) << std::string(100000, 'x');
  auto writer = SharedFileWriter::create(path("w"), 1 << 20);
  ASSERT_TRUE(writer.has_value());
  ASSERT_TRUE(writer->write_at(0, as_bytes("new")).ok());
  ASSERT_TRUE(writer->commit().ok());
  EXPECT_EQ(*read_text_file(path("w")), "new");
  EXPECT_EQ(n_files(), 1U);
  EXPECT_FALSE(SharedFileWriter::create(path("no/folder"), 4096).has_value());
}

}  // namespace
}  // namespace ruv
