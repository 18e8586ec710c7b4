#include "hub/range_journal.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/file.h"

namespace ruv {
namespace {

using Ranges = std::vector<ByteRange>;

class Journal : public testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  const std::string folder_ = testing::TempDir() + "ruv_journal_" + std::to_string(getpid());
  const std::string path_ = folder_ + "/x.ranges";
};

TEST_F(Journal, KeepsWhatWasNoted) {
  {
    auto journal = RangeJournal::open(path_, 100, "start-a");
    ASSERT_TRUE(journal);
    EXPECT_EQ(journal->found().here.n_bytes(), 0U);
    EXPECT_TRUE(journal->note({0, 10}).ok());
    EXPECT_TRUE(journal->note({20, 30}).ok());
  }
  auto journal = RangeJournal::open(path_, 100, "start-a");
  ASSERT_TRUE(journal);
  EXPECT_EQ(journal->found().here.ranges(), (Ranges{{0, 10}, {20, 30}}));
  EXPECT_TRUE(journal->note({10, 20}).ok());
  EXPECT_TRUE(journal->note_whole().ok());
  const std::string text = *read_text_file(path_);
  EXPECT_EQ(read_journal(text, 100, "start-a").here.ranges(), (Ranges{{0, 30}}));
  EXPECT_TRUE(read_journal(text, 100, "start-a").whole);
  EXPECT_EQ(read_journal(text, 101, "start-a").here.n_bytes(), 0U) << "of another file";
}

TEST_F(Journal, AfterALossOfPowerOnlyWhatIsSafeCounts) {
  auto journal = RangeJournal::open(path_, 100, "start-a");
  ASSERT_TRUE(journal);
  EXPECT_TRUE(journal->note({0, 50}).ok());
  ByteRanges safe;
  safe.add({0, 40});
  EXPECT_TRUE(journal->note_safe(safe).ok());
  EXPECT_TRUE(journal->note({50, 100}).ok());
  EXPECT_TRUE(journal->note_whole().ok());
  const std::string text = *read_text_file(path_);
  EXPECT_EQ(read_journal(text, 100, "start-b").here.ranges(), (Ranges{{0, 40}}));
  EXPECT_FALSE(read_journal(text, 100, "start-b").whole);
  EXPECT_EQ(read_journal(text, 100, "").here.ranges(), (Ranges{{0, 40}}));
}

// A process may be killed in the middle of a line.
TEST_F(Journal, EveryBeginningOfOneIsRead) {
  const std::string text =
      "ruvllm-ranges 1 100\nstart s\nhere 0 10\nsafe 0 5\nhere 90 100\nwhole\n";
  uint64_t before = 0;
  for (size_t n = 0; n <= text.size(); ++n) {
    const JournalState state = read_journal(text.substr(0, n), 100, "s");
    EXPECT_GE(state.here.n_bytes(), before);
    before = state.here.n_bytes();
  }
  EXPECT_EQ(before, 20U);
}

TEST_F(Journal, NonsenseGivesNothing) {
  const std::string head = "ruvllm-ranges 1 100\nstart s\n";
  for (const char* line : {"here 0 101", "here 5 5", "here 6 5", "here -1 5", "here 0", "here 0 1 ",
                           "here 0 99999999999999999999", "there", "", "safe", "whole "}) {
    const std::string text = head + "here 0 10\n" + line + "\n";
    EXPECT_EQ(read_journal(text, 100, "s").here.n_bytes(), 0U) << line;
  }
  EXPECT_EQ(read_journal("here 0 10\n", 100, "s").here.n_bytes(), 0U);
  EXPECT_EQ(read_journal(head.substr(0, 20) + "here 0 10\n", 100, "s").here.n_bytes(), 0U);
}

}  // namespace
}  // namespace ruv
