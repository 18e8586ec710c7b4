// What may be read and written over, stamps, and files that are read while they are written.
#include "base/file.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace ruv::file_test {
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

TEST_F(Files, AreCommittedWholeOrNotAtAll) {
  {
    Result<FileWriter> writer = FileWriter::create(path("f"));
    ASSERT_TRUE(writer.has_value());
    ASSERT_TRUE(writer->write(as_bytes("half")).ok());
  }
  EXPECT_EQ(n_files(), 0U);
  Result<FileWriter> writer = FileWriter::create(path("f"));
  ASSERT_TRUE(writer->write(as_bytes("whole")).ok());
  ASSERT_TRUE(writer->commit().ok());
  EXPECT_EQ(read_text_file(path("f")).value(), "whole");
}

TEST_F(Files, NamesAreTheLastPartOfAPath) {
  EXPECT_EQ(file_name_of("a/b/c.txt"), "c.txt");
  EXPECT_EQ(file_name_of("c.txt"), "c.txt");
  EXPECT_EQ(file_name_of("a/"), "");
}

TEST_F(Files, PrivateOnesAreTheirOwnersFromTheStart) {
  using std::filesystem::perms;
  const auto written = [&](FileReaders readers) {
    auto writer = FileWriter::create(path("p"), {.readers = readers});
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

std::string refusal(const std::string& path, FileTarget target = {}) {
  const auto writer = FileWriter::create(path, std::move(target));
  if (writer) return "accepted";
  EXPECT_EQ(writer.error().code(), Code::invalid) << writer.error().message();
  EXPECT_TRUE(writer.error().message().starts_with(path)) << writer.error().message();
  return writer.error().message();
}

TEST_F(Files, OnlyRegularFilesAreRead) {
  EXPECT_EQ(MappedFile::open("/nonexistent/x").error().code(), Code::not_found);
  ASSERT_EQ(::mkfifo(path("pipe").c_str(), 0600), 0);
  std::filesystem::create_symlink("pipe", path("link"));
  // Opening a pipe that nobody writes to would wait for ever.
  for (const auto& [name, kind] : {std::pair(path("pipe"), "a named pipe"),
                                   {path("link"), "a named pipe"},
                                   {std::string("/"), "a folder"},
                                   {std::string("/dev/null"), "a device"}}) {
    const auto opened = MappedFile::open(name);
    ASSERT_FALSE(opened.has_value()) << name;
    EXPECT_EQ(opened.error().code(), Code::invalid);
    EXPECT_EQ(opened.error().message(), name + ": " + kind + ", not a regular file");
  }
  std::ofstream(path("plain")) << "text";
  std::filesystem::create_symlink("plain", path("other"));
  EXPECT_EQ(*read_text_file(path("other")), "text");
}

TEST_F(Files, OnlyRegularFilesAreWrittenOver) {
  ASSERT_EQ(::mkfifo(path("pipe").c_str(), 0600), 0);
  std::ofstream(path("plain")) << "old";
  std::filesystem::create_symlink("plain", path("link"));
  std::filesystem::create_symlink("nothing", path("dangling"));
  const FileTarget replace{.replace = true};
  EXPECT_NE(refusal("/dev/null", replace).find("a device"), std::string::npos);
  EXPECT_NE(refusal("/dev/full", replace).find("a device"), std::string::npos);
  EXPECT_NE(refusal(path("pipe"), replace).find("a named pipe"), std::string::npos);
  EXPECT_NE(refusal(root_, replace).find("a folder"), std::string::npos);
  EXPECT_NE(refusal(path("link"), replace).find("a symbolic link"), std::string::npos);
  EXPECT_NE(refusal(path("dangling"), replace).find("a symbolic link"), std::string::npos);
  EXPECT_NE(refusal(path("plain")).find("--force"), std::string::npos);
  EXPECT_EQ(refusal(path("plain"), replace), "accepted");
  EXPECT_EQ(*read_text_file(path("plain")), "old");
  EXPECT_EQ(n_files(), 4U) << "no temporary file stays";
}

TEST_F(Files, WhatIsReadIsNotWrittenOver) {
  std::ofstream(path("a")) << "input";
  std::filesystem::create_hard_link(path("a"), path("b"));
  std::filesystem::create_symlink("a", path("c"));
  for (const char* name : {"a", "c"}) {
    const FileTarget target{.replace = true, .never = {*id_of(path(name))}};
    EXPECT_NE(refusal(path("a"), target).find("is read here"), std::string::npos);
    EXPECT_NE(refusal(path("b"), target).find("is read here"), std::string::npos) << "a hard link";
  }
  EXPECT_EQ(MappedFile::open(path("c"))->id(), *id_of(path("b")));
  EXPECT_EQ(id_of(path("none")).error().code(), Code::not_found);
}

TEST_F(Files, TheTargetIsLookedAtAgainAtTheEnd) {
  auto writer = FileWriter::create(path("a"));
  ASSERT_TRUE(writer.has_value());
  ASSERT_TRUE(writer->write(as_bytes("mine")).ok());
  std::ofstream(path("a")) << "someone else's";
  EXPECT_EQ(writer->commit().code(), Code::invalid);
  EXPECT_EQ(*read_text_file(path("a")), "someone else's");
  EXPECT_EQ(n_files(), 1U);
}

// As in a process that ignores SIGXFSZ, which the program does.
TEST_F(Files, ALimitOnSizeIsAnErrorAndLeavesNothing) {
  const auto before = ::signal(SIGXFSZ, SIG_IGN);
  rlimit limit{};
  ::getrlimit(RLIMIT_FSIZE, &limit);
  const rlimit small{8192, limit.rlim_max};
  {
    auto writer = FileWriter::create(path("a"));
    ASSERT_TRUE(writer.has_value());
    ::setrlimit(RLIMIT_FSIZE, &small);
    const Status status = writer->write(as_bytes(std::string(100'000, 'x')));
    ::setrlimit(RLIMIT_FSIZE, &limit);
    EXPECT_EQ(status.code(), Code::out_of_memory) << status.message();
    EXPECT_NE(status.message().find("too large"), std::string::npos) << status.message();
  }
  ::signal(SIGXFSZ, before);
  EXPECT_EQ(n_files(), 0U);
}

TEST_F(Files, AdviceChangesNothing) {
  std::ofstream(path("a")) << std::string(100'000, 'a') << "end";
  const auto mapped = MappedFile::open(path("a"));
  ASSERT_TRUE(mapped.has_value());
  MappedFile::expect_read({});
  MappedFile::expect_read(mapped->bytes().subspan(5000, 1));
  MappedFile::expect_read(mapped->bytes().last(3));
  mapped->expect_full_read();
  mapped->expect_parts();
  mapped->drop_pages();
  EXPECT_EQ(as_text(mapped->bytes().last(3)), "end");
}

TEST_F(Files, ForgottenPartsAreReadAgain) {
  constexpr size_t kPage = 65536;  // a whole number of pages on every system
  std::ofstream(path("a")) << std::string(kPage, 'a') << std::string(kPage, 'b') << "end";
  const auto mapped = MappedFile::open(path("a"));
  ASSERT_TRUE(mapped.has_value());
  EXPECT_EQ(as_text(mapped->bytes()).find('b'), kPage);
  EXPECT_TRUE(MappedFile::is_in_memory(mapped->bytes()));
  EXPECT_TRUE(MappedFile::is_in_memory({}));
  for (const Bytes part : {mapped->bytes(), mapped->bytes().subspan(kPage - 1, kPage),
                           mapped->bytes().subspan(1, 2), mapped->bytes().last(3), Bytes{}})
    mapped->forget(part);
  EXPECT_EQ(as_text(mapped->bytes()).find('b'), kPage);
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
  ASSERT_EQ(::mkfifo(path("p.partial").c_str(), 0600), 0);
  EXPECT_EQ(SharedFileWriter::create(path("p"), 4096).error().code(), Code::invalid);
}

}  // namespace
}  // namespace ruv::file_test
