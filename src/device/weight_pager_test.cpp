// Which parts of a file are kept: the numbers of the pager, over a file of 64 parts.
#include "device/weight_pager.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace ruv {
namespace {

constexpr size_t kPart = 65536;  // a whole number of pages on every system
constexpr size_t kParts = 64;
constexpr auto kBytes = static_cast<int64_t>(kPart * kParts);

class WeightPagerTest : public testing::Test {
 protected:
  void SetUp() override {
    std::ofstream out(path_, std::ios::binary);
    for (size_t i = 0; i < kParts; ++i) out << std::string(kPart, static_cast<char>('0' + i));
    out.close();
    file_ = std::make_shared<const MappedFile>(*MappedFile::open(path_));
    pager_ = std::make_unique<WeightPager>(file_, [this] { return room_; });
  }
  void TearDown() override { std::filesystem::remove(path_); }

  Bytes part(size_t i, size_t n = 1) const { return file_->bytes().subspan(i * kPart, n * kPart); }
  void adopt_all() {
    std::vector<Bytes> parts;
    for (size_t i = 0; i < kParts; ++i) parts.push_back(part(i));
    pager_->adopt(parts);
  }
  // A layer that multiplies these parts.
  void use(std::initializer_list<size_t> parts) {
    pager_->begin_layer();
    std::vector<WeightPager::Use> uses;
    for (const size_t i : parts) uses.push_back({part(i)});
    pager_->use(uses);
    for (const size_t i : parts) {
      EXPECT_EQ(part(i).front(), static_cast<std::byte>('0' + i));
      EXPECT_EQ(part(i).back(), static_cast<std::byte>('0' + i));
    }
  }
  // The bytes that n rounds over all parts read.
  int64_t read_in_rounds(int n) {
    const int64_t before = pager_->stats().n_read;
    for (int round = 0; round < n; ++round) {
      for (size_t i = 0; i < kParts; ++i) use({i});
    }
    return pager_->stats().n_read - before;
  }

  const std::string path_ = testing::TempDir() + "ruv_pager_" + std::to_string(getpid());
  int64_t room_ = kBytes / 2;
  std::shared_ptr<const MappedFile> file_;
  std::unique_ptr<WeightPager> pager_;
};

TEST_F(WeightPagerTest, AFileThatFitsIsReadOnce) {
  room_ = 2 * kBytes;
  pager_ = std::make_unique<WeightPager>(file_, [this] { return room_; });
  adopt_all();
  read_in_rounds(1);
  EXPECT_EQ(pager_->stats().n_kept, kBytes);
  EXPECT_EQ(read_in_rounds(3), 0);
}

// Were the newest parts kept, every use would read.
TEST_F(WeightPagerTest, PartsUsedInTurnAreReadOnlyAsFarAsThereIsNoRoom) {
  adopt_all();
  read_in_rounds(1);
  const int64_t n_kept = pager_->stats().n_kept;
  EXPECT_GT(n_kept, kBytes / 3);
  EXPECT_LE(n_kept, kBytes / 2);
  EXPECT_LE(read_in_rounds(4), 4 * (kBytes - n_kept) + kBytes / 4);
}

TEST_F(WeightPagerTest, PartsUsedMoreTakeThePlaceOfOthers) {
  adopt_all();
  read_in_rounds(1);
  for (int i = 0; i < 40; ++i) use({60, 61, 62, 63, static_cast<size_t>(i)});
  const int64_t before = pager_->stats().n_read;
  read_in_rounds(1);
  const int64_t n_read = pager_->stats().n_read;
  use({60, 61, 62, 63});
  EXPECT_EQ(pager_->stats().n_read, n_read);
  EXPECT_LT(n_read - before, kBytes);
}

TEST_F(WeightPagerTest, WhatChangedInUseIsFollowed) {
  adopt_all();
  for (int i = 0; i < 400; ++i) use({0, 1, 2, 3});
  for (int i = 0; i < 4000; ++i) use({static_cast<size_t>(40 + i % 20)});
  EXPECT_LE(pager_->stats().n_kept + pager_->stats().n_passing, room_ + 4 * int64_t{kPart});
  const int64_t before = pager_->stats().n_read;
  for (int i = 0; i < 100; ++i) use({static_cast<size_t>(40 + i % 20)});
  EXPECT_EQ(pager_->stats().n_read, before);
}

TEST_F(WeightPagerTest, GivesUpWhenThereIsLessRoom) {
  adopt_all();
  read_in_rounds(1);
  room_ = kBytes / 8;
  read_in_rounds(2);
  EXPECT_LE(pager_->stats().n_kept, kBytes / 8);
  EXPECT_GT(pager_->stats().n_kept, 0);
  room_ = 1;  // less than any part
  read_in_rounds(2);
  EXPECT_EQ(pager_->stats().n_kept, 0);
  EXPECT_LE(pager_->stats().n_passing, 3 * int64_t{kPart});
  room_ = kBytes / 2;
  read_in_rounds(3);
  EXPECT_GT(pager_->stats().n_kept, kBytes / 3);
}

TEST_F(WeightPagerTest, LargePartsAreKeptBeforeSmallOnes) {
  std::vector<Bytes> parts = {part(0, 16)};
  for (size_t i = 16; i < kParts; ++i) parts.push_back(part(i));
  pager_->adopt(parts);
  const auto round = [&] {
    for (const Bytes bytes : parts) {
      pager_->begin_layer();
      WeightPager::Use use{bytes};
      pager_->use({&use, 1});
    }
  };
  for (int i = 0; i < 6; ++i) round();
  pager_->begin_layer();
  WeightPager::Use large{parts[0]};
  pager_->use({&large, 1});
  EXPECT_FALSE(large.lacking);
}

TEST_F(WeightPagerTest, SaysWhatIsLacking) {
  adopt_all();
  WeightPager::Use use{part(3)};
  pager_->use({&use, 1});
  EXPECT_TRUE(use.lacking);
  EXPECT_EQ(pager_->stats().n_read, int64_t{kPart});
  EXPECT_EQ(pager_->stats().n_used, int64_t{kPart});
}

// Matrices that the file lacks, or of another file, are in memory.
TEST_F(WeightPagerTest, LeavesOtherBytesAlone) {
  adopt_all();
  const std::string other(2 * kPart, 'x');
  const Bytes all = file_->bytes();
  for (int i = 0; i < 20; ++i) {
    pager_->begin_layer();
    WeightPager::Use uses[] = {{as_bytes(other)}, {{all.data() + kPart, all.size()}}};
    pager_->use(uses);
    EXPECT_FALSE(uses[0].lacking || uses[1].lacking);
  }
  EXPECT_EQ(other, std::string(2 * kPart, 'x'));
  EXPECT_EQ(pager_->stats().n_used, 0);
}

// Uses are counted anew when their unit has grown by 2^64.
TEST_F(WeightPagerTest, CountsForever) {
  room_ = kBytes / 8 * 7;
  pager_ = std::make_unique<WeightPager>(file_, [this] { return room_; });
  std::vector<Bytes> parts;
  for (size_t i = 0; i < kParts; i += 8) parts.push_back(part(i, 8));
  pager_->adopt(parts);
  const auto rounds = [&](int n) {
    const int64_t before = pager_->stats().n_read;
    for (int round = 0; round < n; ++round) {
      for (const Bytes bytes : parts) {
        pager_->begin_layer();
        WeightPager::Use use{bytes};
        pager_->use({&use, 1});
      }
    }
    return pager_->stats().n_read - before;
  };
  rounds(2300);
  EXPECT_GT(pager_->stats().n_kept, kBytes / 3);
  EXPECT_LE(pager_->stats().n_kept, room_);
  EXPECT_LE(rounds(4), 4 * (kBytes - pager_->stats().n_kept) + kBytes / 4);
}

}  // namespace
}  // namespace ruv
