// An index on disk finds what comparing with everything finds, with little memory, and whatever is
// damaged is named.
#include "memory/disk_index.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <numeric>
#include <set>
#include <sstream>
#include <thread>

#include "base/test_share.h"
#include "memory/disk_writer.h"
#include "memory/test_clusters.h"

namespace ruv::disk_index_test {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kNearest = 10;

std::string bytes_of_file(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream bytes;
  bytes << file.rdbuf();
  return bytes.str();
}

void flip(const fs::path& path, uint64_t at) {
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekg(static_cast<std::streamoff>(at));
  const auto byte = static_cast<char>(file.get() ^ (1 << (at % 8)));
  file.seekp(static_cast<std::streamoff>(at));
  file.put(byte);
}

class DiskIndexTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / ("ruv_disk_index_" + std::to_string(::getpid()));
    fs::remove_all(folder_);
    fs::create_directories(folder_);
    options_.path = folder_ / "disk";
  }
  void TearDown() override { fs::remove_all(folder_); }

  // n points with ids 7, 10, 13 and on.
  Status write(const DiskWriteOptions& options, int64_t n, int n_threads = 2) {
    WorkerPool pool(n_threads);
    clusters_ = Clusters(options.n_dims, 5);
    points_ = clusters_.points(n);
    ids_.clear();
    for (int64_t i = 0; i < n; ++i) ids_.push_back(7 + 3 * i);
    fs::remove(options_.path);
    fs::remove(DiskIndex::path_of_removed(options_.path));
    options_.label = options.label;
    return write_disk_index(options_.path, options, ids_, points_, pool);
  }
  std::unique_ptr<DiskIndex> open() {
    auto index = DiskIndex::open(options_, pool_);
    EXPECT_TRUE(index) << index.error().message();
    return index ? std::move(*index) : nullptr;
  }
  std::unique_ptr<DiskIndex> made(const DiskWriteOptions& options, int64_t n) {
    const Status status = write(options, n);
    EXPECT_TRUE(status.ok()) << status.message();
    return status.ok() ? open() : nullptr;
  }
  std::span<const float> point(size_t i) const {
    const auto n = static_cast<size_t>(clusters_.n_dims);
    return std::span(points_).subspan(i * n, n);
  }
  // The share of the nearest that is found among those that `may` takes, and in `n_reads_` how many
  // blocks were read for a query.
  template <class May>
  double recall(const DiskIndex& index, const DiskSearchOptions& search, May&& may) {
    const Metric metric = index.shape().metric;
    DiskSearch memory;
    constexpr int64_t kQueries = 40;
    int64_t n_found = 0, n_wanted = 0, n_reads = 0;
    const std::vector<float> queries = clusters_.points(kQueries);
    for (int64_t q = 0; q < kQueries; ++q) {
      const auto n = static_cast<size_t>(clusters_.n_dims);
      const auto query = std::span(queries).subspan(static_cast<size_t>(q) * n, n);
      std::vector<std::pair<double, int64_t>> all;
      for (size_t i = 0; i < ids_.size(); ++i) {
        if (may(ids_[i])) all.push_back({distance_of(metric, query, point(i)), ids_[i]});
      }
      std::sort(all.begin(), all.end());
      all.resize(std::min<size_t>(all.size(), static_cast<size_t>(search.k)));
      const auto found = index.search(query, search, memory);
      EXPECT_TRUE(found) << found.error().message();
      if (!found) return 0;
      n_reads += memory.n_blocks_read();
      n_wanted += std::ssize(all);
      for (const auto& one : *found) {
        EXPECT_TRUE(may(one.id)) << one.id;
        n_found += std::ranges::count(all, one.id, &std::pair<double, int64_t>::second);
      }
    }
    n_reads_ = static_cast<double>(n_reads) / kQueries;
    return static_cast<double>(n_found) / static_cast<double>(n_wanted);
  }
  double recall(const DiskIndex& index, const DiskSearchOptions& search) {
    return recall(index, search, [](int64_t) { return true; });
  }

  WorkerPool pool_{2};
  Clusters clusters_{1, 5};
  std::vector<float> points_;
  std::vector<int64_t> ids_;
  fs::path folder_;
  DiskIndexOptions options_;
  double n_reads_ = 0;
};

// A list of 100 finds 95 of 100 of the nearest, by each metric and in both forms of numbers.
TEST_F(DiskIndexTest, FindsTheNearest) {
  for (const Metric metric : {Metric::l2, Metric::cosine, Metric::manhattan}) {
    for (const bool has_halves : {false, true}) {
      const auto index = made({.metric = metric, .n_dims = 24, .has_halves = has_halves}, 3000);
      ASSERT_TRUE(index);
      EXPECT_EQ(index->size(), 3000);
      EXPECT_GE(recall(*index, {.k = kNearest, .n_looked_at = 100}), 0.95)
          << name_of(metric) << has_halves;
      EXPECT_GE(recall(*index, {.k = kNearest, .n_looked_at = 100, .beam = 1}), 0.95);
    }
  }
}

TEST_F(DiskIndexTest, LengthsThatFillNoPartAndNoBlock) {
  for (const int64_t n_dims : {1, 3, 5, 17, 66, 1100}) {
    const int64_t n = n_dims > 1000 ? 300 : 1000;
    const auto index = made({.n_dims = n_dims}, n);
    ASSERT_TRUE(index);
    EXPECT_GE(recall(*index, {.k = kNearest, .n_looked_at = 100}), 0.95) << n_dims;
    for (const size_t i : {size_t{0}, size_t{57}, size_t{299}}) {
      const auto vector = index->vector(ids_[i]);
      ASSERT_TRUE(vector);
      EXPECT_TRUE(std::ranges::equal(*vector, point(i)));
    }
  }
}

TEST_F(DiskIndexTest, TheSameBytesForAnyNumberOfThreads) {
  const DiskWriteOptions options{.metric = Metric::cosine, .n_dims = 20, .label = "a model"};
  ASSERT_TRUE(write(options, 2500, 1).ok());
  const std::string one = bytes_of_file(options_.path);
  ASSERT_TRUE(write(options, 2500, 4).ok());
  EXPECT_TRUE(one == bytes_of_file(options_.path));
}

TEST_F(DiskIndexTest, TheSameResultsWhateverTheCacheAndThreads) {
  ASSERT_TRUE(write({.n_dims = 16}, 2000).ok());
  options_.cache_bytes = 0;
  const auto without = open();
  options_.cache_bytes = int64_t{1} << 30;
  const auto whole = open();
  ASSERT_TRUE(without && whole);
  const std::vector<float> queries = clusters_.points(64);
  std::vector<std::vector<DiskIndex::Found>> found[3];
  for (auto& list : found) list.resize(64);
  std::vector<int64_t> n_read(64);
  WorkerPool pool(4);
  for (const int run : {0, 1, 2}) {
    std::vector<DiskSearch> memories(4);
    const auto search = [&](int thread, int64_t i) {
      DiskSearch& memory = memories[static_cast<size_t>(thread)];
      const auto query = std::span(queries).subspan(static_cast<size_t>(i) * 16, 16);
      auto result = (run == 1 ? whole : without)->search(query, {.n_looked_at = 40}, memory);
      if (result) found[run][static_cast<size_t>(i)] = std::move(*result);
      if (run == 1) n_read[static_cast<size_t>(i)] = memory.n_blocks_read();
    };
    if (run == 2) {
      pool.run_items(64, search);
    } else {
      for (int64_t i = 0; i < 64; ++i) search(0, i);
    }
  }
  for (const auto& list : found[0]) EXPECT_EQ(list.size(), 10U);
  EXPECT_EQ(found[0], found[1]);
  EXPECT_EQ(found[0], found[2]);
  EXPECT_EQ(std::accumulate(n_read.begin(), n_read.end(), int64_t{0}), 0);
}

// Codes and ids take a seventh of the vectors, and a search reads a small part of the file.
TEST_F(DiskIndexTest, MemoryIsAFractionOfTheVectors) {
  options_.cache_bytes = 0;
  const auto index = made({.n_dims = 128}, 4000);
  ASSERT_TRUE(index);
  const int64_t n_vector_bytes = 4000 * 128 * 4, n_centre_bytes = 32 * 4096;
  EXPECT_LE(index->n_bytes(), n_vector_bytes / 10 + n_centre_bytes);
  EXPECT_GE(recall(*index, {.k = kNearest, .n_looked_at = 60}), 0.95);
  EXPECT_LE(n_reads_, 80);
}

TEST_F(DiskIndexTest, EmptyAndTinySets) {
  DiskSearch memory;
  auto index = made({.n_dims = 3}, 0);
  ASSERT_TRUE(index);
  const std::vector<float> query = {1, 2, 3};
  EXPECT_TRUE(index->search(query, {}, memory)->empty());
  EXPECT_EQ(index->size(), 0);
  EXPECT_FALSE(index->has(7));
  for (const int64_t n : {1, 2, 5, 40}) {
    index = made({.n_dims = 3}, n);
    ASSERT_TRUE(index);
    const auto found = index->search(query, {.k = 100, .n_looked_at = 1}, memory);
    ASSERT_TRUE(found);
    EXPECT_EQ(std::ssize(*found), n);
    EXPECT_TRUE(std::ranges::is_sorted(*found, {}, &DiskIndex::Found::distance));
    EXPECT_TRUE(index->search(query, {.k = 0}, memory)->empty());
  }
}

// Equal vectors have no near ones in other directions, and all can be found.
TEST_F(DiskIndexTest, EqualVectorsAreAllFound) {
  const std::vector<float> numbers(size_t{900} * 8, 0.5F);
  std::vector<int64_t> ids(900);
  std::iota(ids.begin(), ids.end(), -450);
  ASSERT_TRUE(write_disk_index(options_.path, {.n_dims = 8}, ids, numbers, pool_).ok());
  const auto index = open();
  ASSERT_TRUE(index);
  DiskSearch memory;
  const std::vector<float> query(8, 1);
  const auto found = index->search(query, {.k = 900}, memory);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->size(), 900U);
}

TEST_F(DiskIndexTest, FiltersOfAnyShare) {
  const auto index = made({.n_dims = 16}, 4000);
  ASSERT_TRUE(index);
  for (const int64_t of_thousand : {1, 10, 100, 500, 900, 1000}) {
    const auto may = [&](int64_t id) { return id * 7919 % 1000 < of_thousand; };
    std::vector<int64_t> ids;
    std::ranges::copy_if(ids_, std::back_inserter(ids), may);
    ids.push_back(8);  // not there
    const NodeSet among = index->nodes_of(ids);
    EXPECT_EQ(among.size(), std::ssize(ids) - 1);
    EXPECT_GE(recall(*index, {.k = kNearest, .n_looked_at = 100, .among = &among}, may), 0.95)
        << of_thousand;
  }
  DiskSearch memory;
  const NodeSet none;
  EXPECT_TRUE(index->search(point(0), {.among = &none}, memory)->empty());
}

// A large share, so that the walk is what finds them.
TEST_F(DiskIndexTest, AWalkWithAFilterReadsMoreUntilItHasEnough) {
  const auto index = made({.n_dims = 8}, int64_t{40'000} / static_cast<int64_t>(kTestShare));
  ASSERT_TRUE(index);
  const auto may = [&](int64_t id) { return id % 10 != 0; };
  std::vector<int64_t> ids;
  std::ranges::copy_if(ids_, std::back_inserter(ids), may);
  const NodeSet among = index->nodes_of(ids);
  EXPECT_GE(recall(*index, {.k = kNearest, .n_looked_at = 100, .among = &among}, may), 0.95);
}

TEST_F(DiskIndexTest, RemovedIdsAreNeverFound) {
  auto index = made({.n_dims = 16, .label = "a model"}, 2000);
  ASSERT_TRUE(index);
  const auto stays = [](int64_t id) { return id % 2 == 0; };
  std::vector<int64_t> gone = {99'999'999};
  for (const int64_t id : ids_) {
    if (!stays(id)) gone.push_back(id);
  }
  EXPECT_EQ(*index->remove(gone), std::ssize(gone) - 1);
  EXPECT_EQ(*index->remove(gone), 0);
  for (int opened = 0; opened < 2; ++opened) {
    EXPECT_EQ(index->size(), 2000 - index->n_removed());
    EXPECT_EQ(index->n_removed(), std::ssize(gone) - 1);
    EXPECT_GE(recall(*index, {.k = kNearest, .n_looked_at = 100}, stays), 0.95);
    EXPECT_FALSE(index->has(gone.back()));
    EXPECT_EQ(index->vector(gone.back()).error().code(), Code::not_found);
    const NodeSet nodes = index->nodes_of(gone);
    EXPECT_EQ(nodes.size(), 0);
    EXPECT_TRUE(std::ranges::all_of(index->ids(), stays));
    index = open();
    ASSERT_TRUE(index);
  }
  EXPECT_EQ(*index->remove(ids_), index->shape().n_nodes - std::ssize(gone) + 1);
  DiskSearch memory;
  EXPECT_TRUE(index->search(point(0), {}, memory)->empty());
}

TEST_F(DiskIndexTest, RemovalsOfAnotherFileAreRefused) {
  auto index = made({.n_dims = 4}, 50);
  ASSERT_TRUE(index);
  ASSERT_TRUE(index->remove(std::vector<int64_t>{7}));
  index.reset();
  const fs::path log = DiskIndex::path_of_removed(options_.path), kept = folder_ / "kept";
  fs::copy(log, kept);
  ASSERT_TRUE(write({.n_dims = 4}, 51).ok());
  fs::copy(kept, log);
  EXPECT_EQ(DiskIndex::open(options_, pool_).error().code(), Code::corrupt);
}

TEST_F(DiskIndexTest, WhatIsWrongIsRefusedByName) {
  const auto message = [&](const DiskWriteOptions& options) { return write(options, 3).message(); };
  EXPECT_NE(message({.metric = Metric::dot, .n_dims = 4}).find("metric dot"), std::string::npos);
  EXPECT_NE(message({.n_dims = 0}).find("0 numbers"), std::string::npos);
  EXPECT_NE(message({.n_dims = 4, .graph = {.degree = 2}}).find("degree"), std::string::npos);
  EXPECT_NE(message({.n_dims = 4, .graph = {.alpha = 3}}).find("alpha"), std::string::npos);
  EXPECT_NE(message({.n_dims = 4, .graph = {.n_looked_at = 0}}).find("n_looked_at"),
            std::string::npos);
  EXPECT_NE(message({.n_dims = 4, .label = std::string(4000, 'x')}).find("label"),
            std::string::npos);
  const auto written = [&](std::vector<int64_t> ids, std::vector<float> numbers, Metric metric) {
    return write_disk_index(folder_ / "other", {.metric = metric, .n_dims = 2}, ids, numbers, pool_)
        .code();
  };
  EXPECT_EQ(written({1, 1}, {1, 2, 3, 4}, Metric::l2), Code::invalid);
  EXPECT_EQ(written({1, 2}, {1, 2, 3}, Metric::l2), Code::invalid);
  EXPECT_EQ(written({1, 2}, {1, 2, 3, 1e16F}, Metric::l2), Code::invalid);
  EXPECT_EQ(written({1, 2}, {1, 2, 0, 0}, Metric::cosine), Code::invalid);
  EXPECT_EQ(written({1, 2}, {1, 2, 0, 0}, Metric::l2), Code::ok);
  EXPECT_EQ(written({1, 2}, {1, 2, 0, 0}, Metric::l2), Code::invalid);  // the file is there

  const auto index = made({.n_dims = 4, .label = "a model"}, 20);
  ASSERT_TRUE(index);
  DiskSearch memory;
  EXPECT_EQ(index->search(std::vector<float>(3), {}, memory).error().code(), Code::invalid);
  EXPECT_EQ(index->search(std::vector<float>(4, 1e16F), {}, memory).error().code(), Code::invalid);
  EXPECT_EQ(index->search(point(0), {.beam = 0}, memory).error().code(), Code::invalid);
  options_.label = "another model";
  const auto other = DiskIndex::open(options_, pool_);
  ASSERT_FALSE(other);
  EXPECT_NE(other.error().message().find("\"a model\", not \"another model\""), std::string::npos);
  options_.path = folder_ / "nothing";
  EXPECT_EQ(DiskIndex::open(options_, pool_).error().code(), Code::not_found);
}

// Each flipped byte: opening says what is damaged, or searches find what they did or name a block.
TEST_F(DiskIndexTest, AFlippedBitIsFound) {
  options_.cache_bytes = 8192;
  auto index = made({.n_dims = 6, .graph = {.degree = 8}}, 70);
  ASSERT_TRUE(index);
  const auto answers = [&](const DiskIndex& of) {
    std::vector<Result<std::vector<DiskIndex::Found>>> all;
    DiskSearch memory;
    for (size_t i = 0; i < 70; i += 5) all.push_back(of.search(point(i), {.k = 9}, memory));
    return all;
  };
  const auto wanted = answers(*index);
  const DiskShape shape = index->shape();
  index.reset();
  const fs::path path = options_.path;
  const auto size = static_cast<int64_t>(fs::file_size(path));
  ASSERT_EQ(size, shape.file_bytes());
  int64_t n_named = 0, n_harmless = 0;
  for (int64_t at = 0; at < size; at += 5 * static_cast<int64_t>(kTestShare)) {
    flip(path, static_cast<uint64_t>(at));
    const auto opened = DiskIndex::open(options_, pool_);
    const bool is_block = at >= shape.blocks_at();
    const bool is_filler = at >= shape.codes_at() + shape.codes_bytes() && !is_block;
    if (is_filler) {
      ++n_harmless;
      EXPECT_TRUE(opened);
    } else if (!is_block) {
      ++n_named;
      EXPECT_FALSE(opened) << at;
    } else {
      ASSERT_TRUE(opened) << at << opened.error().message();
      const auto found = answers(**opened);
      const std::string name =
          "block " + std::to_string((at - shape.blocks_at()) / shape.block_bytes) + " is damaged";
      bool is_named = false;
      for (size_t i = 0; i < found.size(); ++i) {
        const bool names = !found[i] && found[i].error().message().find(name) != std::string::npos;
        is_named = is_named || names;
        EXPECT_TRUE(names || (found[i] && *found[i] == *wanted[i])) << at;
      }
      EXPECT_TRUE(is_named) << at;
      EXPECT_EQ((*opened)->check_all(pool_).code(), Code::corrupt);
      ++n_named;
    }
    flip(path, static_cast<uint64_t>(at));
  }
  EXPECT_GT(n_named, n_harmless);
}

// Files that end early or go on are refused before anything is allocated by what they say.
TEST_F(DiskIndexTest, AFileOfAnotherSizeIsRefused) {
  ASSERT_TRUE(write({.n_dims = 6}, 30).ok());
  const std::string whole = bytes_of_file(options_.path);
  for (const int64_t change : {-4096, -1, 1, 4096, -static_cast<int>(whole.size())}) {
    fs::resize_file(options_.path, whole.size() + static_cast<uint64_t>(change));
    EXPECT_EQ(DiskIndex::open(options_, pool_).error().code(), Code::corrupt);
    std::ofstream(options_.path, std::ios::binary) << whole;
  }
  EXPECT_TRUE(DiskIndex::open(options_, pool_));
}

// Without the vectors of damaged blocks all others are found, also where the entry was in one.
TEST_F(DiskIndexTest, DamagedBlocksAreLeftOut) {
  ASSERT_TRUE(write({.n_dims = 12}, 1200).ok());
  auto index = open();
  ASSERT_TRUE(index);
  const DiskShape shape = index->shape();
  index.reset();
  for (const int64_t block : {int64_t{0}, shape.n_blocks() / 2}) {
    flip(options_.path, static_cast<uint64_t>(shape.blocks_at() + block * shape.block_bytes + 30));
  }
  options_.removes_damaged = true;
  index = open();
  ASSERT_TRUE(index);
  EXPECT_EQ(index->n_damaged(), 2 * shape.nodes_of_block());
  EXPECT_EQ(index->size(), 1200 - index->n_damaged());
  EXPECT_TRUE(index->check_all(pool_).ok());
  const std::vector<int64_t> left = index->ids();
  const std::set<int64_t> stay(left.begin(), left.end());
  const auto stays = [&](int64_t id) { return stay.contains(id); };
  EXPECT_GE(recall(*index, {.k = kNearest, .n_looked_at = 100}, stays), 0.95);
  options_.removes_damaged = false;
  index = open();
  ASSERT_TRUE(index);
  EXPECT_EQ(index->n_damaged(), 0);
  EXPECT_GE(recall(*index, {.k = kNearest, .n_looked_at = 100}, stays), 0.95);
}

}  // namespace
}  // namespace ruv::disk_index_test
