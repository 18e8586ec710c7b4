// Files whose writing goes on where an earlier writer stopped.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/file.h"
#include "base/rng.h"
#include "base/test_kill.h"

namespace ruv::resumed_file_test {
namespace {

constexpr size_t kPiece = 1000;

// The nth piece of every file here.
std::string piece(uint64_t n) {
  Rng rng(n);
  std::string bytes(kPiece, '\0');
  for (char& byte : bytes) byte = static_cast<char>(rng.next());
  return bytes;
}

class ResumedFiles : public testing::Test {
 protected:
  void SetUp() override { std::filesystem::create_directories(root_); }
  void TearDown() override { std::filesystem::remove_all(root_); }

  Result<FileWriter> writer() const { return FileWriter::create(path_, {.resumable = true}); }
  // Pieces [first, end), or until one fails.
  static Status write(FileWriter& file, uint64_t first, uint64_t end) {
    for (uint64_t n = first; n < end; ++n) TRY(file.write(as_bytes(piece(n))));
    return {};
  }
  void leave(uint64_t n_pieces) const {
    auto file = writer();
    ASSERT_TRUE(file.has_value()) << file.error().message();
    ASSERT_TRUE(write(*file, 0, n_pieces).ok());
  }
  size_t n_files() const {
    return static_cast<size_t>(std::distance(std::filesystem::directory_iterator(root_), {}));
  }
  // All ten pieces, the kept ones skipped, and nothing else left in the folder.
  void finish(uint64_t n_kept) const {
    auto file = writer();
    ASSERT_TRUE(file.has_value()) << file.error().message();
    EXPECT_EQ(file->n_kept(), n_kept * kPiece);
    file->skip(n_kept * kPiece);
    ASSERT_TRUE(write(*file, n_kept, 10).ok());
    ASSERT_TRUE(file->commit().ok());
    std::string whole;
    for (uint64_t n = 0; n < 10; ++n) whole += piece(n);
    EXPECT_EQ(read_text_file(path_).value_or(""), whole);
    EXPECT_EQ(n_files(), 1U);
  }
  static void flip(const std::string& path, int64_t at) {
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekg(at);
    const int byte = file.get();
    file.seekp(at);
    file.put(static_cast<char>(byte ^ 1));
  }

  const std::string root_ = testing::TempDir() + "ruv_resumed_" + std::to_string(getpid());
  const std::string path_ = root_ + "/f";
};

TEST_F(ResumedFiles, GoOnWhereTheyWere) {
  leave(4);
  EXPECT_FALSE(file_exists(path_));
  finish(4);
}

TEST_F(ResumedFiles, APieceThatIsDamagedIsWrittenAgain) {
  leave(6);
  flip(path_ + ".partial", 2 * kPiece + 17);
  finish(2);
}

TEST_F(ResumedFiles, ADamagedLogCostsThePiecesAfterIt) {
  leave(6);
  flip(path_ + ".partial.log", 8 + 3 * 24 + 5);
  finish(3);
}

TEST_F(ResumedFiles, WithoutALogAllIsWrittenAgain) {
  leave(6);
  std::filesystem::remove(path_ + ".partial.log");
  finish(0);
  std::filesystem::remove(path_);
  leave(6);
  std::ofstream(path_ + ".partial.log") << "something else";
  finish(0);
}

TEST_F(ResumedFiles, OtherBytesReplaceWhatWasKept) {
  leave(8);
  auto file = writer();
  ASSERT_TRUE(file.has_value());
  EXPECT_EQ(file->n_kept(), 8 * kPiece);
  ASSERT_TRUE(write(*file, 0, 2).ok());
  EXPECT_EQ(file->n_kept(), 8 * kPiece) << "the same bytes so far";
  ASSERT_TRUE(file->write(as_bytes("other")).ok());
  EXPECT_EQ(file->n_kept(), 2 * kPiece);
  ASSERT_TRUE(file->commit().ok());
  EXPECT_EQ(read_text_file(path_).value_or(""), piece(0) + piece(1) + "other");
  EXPECT_EQ(n_files(), 1U);
}

TEST_F(ResumedFiles, HaveOneWriterAtATime) {
  auto first = writer();
  ASSERT_TRUE(first.has_value());
  EXPECT_EQ(writer().error().code(), Code::unavailable);
  first->discard();
  EXPECT_EQ(n_files(), 0U);
  EXPECT_TRUE(writer().has_value());
}

// Where a process is killed, the acknowledged pieces are there.
TEST_F(ResumedFiles, LoseNothingWhenKilled) {
  Rng rng(5);
  for (int kill = 0; kill < n_kills_wanted(); ++kill) {
    const auto n_us = static_cast<uint32_t>(rng.next() % 3000);
    const int64_t n = n_steps_until_killed(n_us, [&](int acknowledged) {
      auto file = writer();
      if (!file) return 1;
      for (uint64_t i = 0;; ++i) {
        if (!file->write(as_bytes(piece(i))).ok()) return 2;
        acknowledge(acknowledged);
      }
    });
    auto file = writer();
    ASSERT_TRUE(file.has_value()) << file.error().message();
    EXPECT_GE(file->n_kept(), static_cast<uint64_t>(n) * kPiece);
    ASSERT_TRUE(write(*file, 0, static_cast<uint64_t>(n)).ok());
    EXPECT_GE(file->n_kept(), file->offset()) << "they are what was written";
    file->discard();
  }
}

}  // namespace
}  // namespace ruv::resumed_file_test
