// An index on disk is, when it is opened again, what it was; and damage is found.
#include "memory/vector_index.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <numeric>

#include "base/folder.h"
#include "base/rng.h"
#include "base/test_share.h"
#include "memory/piece_file.h"

namespace ruv::vector_index_test {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kDims = 12;

class VectorIndexTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / ("ruv_vector_index_" + std::to_string(::getpid()));
    fs::remove_all(folder_);
    options_.folder = folder_ / "index";
    options_.graph = {.metric = Metric::cosine, .n_dims = kDims, .m = 6, .n_looked_at = 30};
    options_.graph.codes = VectorCodes::int8;
    options_.label = "a model";
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::unique_ptr<VectorIndex> open() {
    auto index = VectorIndex::open(options_, pool_);
    EXPECT_TRUE(index) << index.error().message();
    return index ? std::move(*index) : nullptr;
  }
  std::vector<float> drawn(int64_t n) {
    std::vector<float> numbers;
    for (int64_t i = 0; i < n * kDims; ++i) {
      numbers.push_back(static_cast<float>(rng_.uniform() - 0.5));
    }
    return numbers;
  }
  // What some searches find: all distances to the bit.
  std::vector<std::vector<VectorIndex::Found>> answers(const VectorIndex& index) const {
    std::vector<std::vector<VectorIndex::Found>> all;
    Rng rng(77);
    HnswSearch memory;
    for (int i = 0; i < 20; ++i) {
      std::vector<float> query;
      for (int64_t d = 0; d < kDims; ++d) query.push_back(static_cast<float>(rng.uniform() - 0.5));
      all.push_back(*index.search(query, {.k = 8, .n_looked_at = 20}, memory));
    }
    return all;
  }
  // Whether each search finds what it should, or says that a vector is damaged.
  static void expect_right_or_refused(const VectorIndex& index,
                                      const std::vector<std::vector<VectorIndex::Found>>& wanted) {
    Rng rng(77);
    HnswSearch memory;
    for (const auto& one : wanted) {
      std::vector<float> query;
      for (int64_t d = 0; d < kDims; ++d) query.push_back(static_cast<float>(rng.uniform() - 0.5));
      const auto found = index.search(query, {.k = 8, .n_looked_at = 20}, memory);
      EXPECT_TRUE(found ? *found == one : found.error().code() == Code::corrupt);
    }
  }
  std::string copy_of_index(const std::string& name) const {
    const fs::path copy = folder_ / name;
    fs::remove_all(copy);
    fs::copy(options_.folder, copy);
    return copy;
  }

  WorkerPool pool_{2};
  Rng rng_{3};
  fs::path folder_;
  VectorIndexOptions options_;
};

// A writer that dies at any moment leaves what files had at that moment: each step is opened from
// a copy of the files, and has what the running index has.
TEST_F(VectorIndexTest, OpensAsItWasAfterEachChange) {
  auto index = open();
  ASSERT_TRUE(index);
  std::vector<int64_t> known;
  int64_t next = 1;
  for (int step = 0; step < 60; ++step) {
    if (rng_.below(3) > 0 || known.size() < 40) {
      std::vector<int64_t> ids;
      for (uint32_t i = 0; i <= rng_.below(60); ++i) ids.push_back(next += 1 + rng_.below(9));
      ASSERT_TRUE(index->add(ids, drawn(std::ssize(ids)), pool_).ok());
      known.insert(known.end(), ids.begin(), ids.end());
    } else {
      std::vector<int64_t> gone;
      for (uint32_t i = 0; i <= rng_.below(40); ++i) {
        const size_t at = rng_.below(static_cast<uint32_t>(known.size()));
        gone.push_back(known[at]);
        known.erase(known.begin() + static_cast<ptrdiff_t>(at));
      }
      EXPECT_EQ(*index->remove(gone, pool_), std::ssize(gone));
      EXPECT_EQ(*index->remove(gone, pool_), 0);
    }
    if (step % 17 == 5) {
      ASSERT_TRUE(index->checkpoint().ok());
    }
    VectorIndexOptions options = options_;
    options.folder = copy_of_index("copy");
    auto again = VectorIndex::open(options, pool_);
    ASSERT_TRUE(again) << again.error().message();
    EXPECT_EQ((*again)->size(), std::ssize(known));
    EXPECT_EQ(answers(**again), answers(*index)) << step;
  }
  const auto before = answers(*index);
  index.reset();
  index = open();
  ASSERT_TRUE(index);
  EXPECT_EQ(answers(*index), before);
  for (const int64_t id : known) EXPECT_TRUE(index->has(id));
}

// Half of a checkpoint leaves an index that is whole.
TEST_F(VectorIndexTest, ACheckpointThatWasCutShortChangesNothing) {
  auto index = open();
  const std::vector<int64_t> ids = {5, 6, 7, 8};
  ASSERT_TRUE(index->add(ids, drawn(4), pool_).ok());
  const std::string before = copy_of_index("before");
  const auto wanted = answers(*index);
  ASSERT_TRUE(index->checkpoint().ok());
  EXPECT_EQ(answers(*index), wanted);
  const std::string after = copy_of_index("after");
  EXPECT_FALSE(fs::exists(after + "/log-0"));
  VectorIndexOptions options = options_;
  // The graph was written and the log not.
  fs::copy(after + "/graph-1", before + "/graph-1");
  options.folder = before;
  auto again = VectorIndex::open(options, pool_);
  ASSERT_TRUE(again);
  EXPECT_EQ(answers(**again), wanted);
  EXPECT_FALSE(fs::exists(before + "/graph-1"));
  // Both were written and the older ones not removed.
  again->reset();
  fs::copy(after + "/graph-1", before + "/graph-1");
  fs::copy(after + "/log-1", before + "/log-1");
  auto newer = VectorIndex::open(options, pool_);
  ASSERT_TRUE(newer);
  EXPECT_EQ(answers(**newer), wanted);
  EXPECT_FALSE(fs::exists(before + "/log-0"));
}

// Graphs of version 1 have no codes in them: they are made of the rows.
TEST_F(VectorIndexTest, AGraphOfVersionOneIsOpened) {
  constexpr int64_t kNodes = 40, kCodeBytes = 64 + 2 * sizeof(float);  // a padded row, its scale
  std::vector<std::vector<VectorIndex::Found>> wanted;
  std::string graph;
  {
    auto index = open();
    std::vector<int64_t> ids(kNodes);
    std::iota(ids.begin(), ids.end(), 100);
    ASSERT_TRUE(index->add(ids, drawn(kNodes), pool_).ok());
    ASSERT_TRUE(index->checkpoint().ok());
    wanted = answers(*index);
    graph = (fs::path(options_.folder) / "graph-1").string();
  }
  std::string payload;
  {
    const auto mapping = MappedFile::open(graph);
    ASSERT_TRUE(mapping);
    PieceReader file(mapping->bytes(), graph);
    for (auto byte = file.get<char>(); byte; byte = file.get<char>()) payload += *byte;
  }
  ASSERT_EQ(payload.substr(0, 8), "RVGRAPH2");
  payload[7] = '1';
  const size_t n_ends = kNodes * 2 * sizeof(int64_t);  // ids and hashes
  payload.erase(payload.size() - n_ends - kNodes * kCodeBytes, kNodes * kCodeBytes);
  auto writer = PieceWriter::create(graph);
  ASSERT_TRUE(writer);
  ASSERT_TRUE(writer->write(as_bytes(payload)).ok());
  ASSERT_TRUE(writer->commit().ok());
  auto index = open();
  ASSERT_TRUE(index);
  EXPECT_EQ(answers(*index), wanted);
}

TEST_F(VectorIndexTest, WhatIsNotTheIndexIsRefusedByName) {
  auto index = open();
  EXPECT_EQ(VectorIndex::open(options_, pool_).error().code(), Code::unavailable);
  index.reset();
  const auto refused = [&](const VectorIndexOptions& options) {
    const auto result = VectorIndex::open(options, pool_);
    return result ? std::string("opened") : result.error().message();
  };
  VectorIndexOptions other = options_;
  other.label = "another model";
  EXPECT_NE(refused(other).find("label \"a model\", not \"another model\""), std::string::npos);
  other = options_;
  other.graph.n_dims = 13;
  EXPECT_NE(refused(other).find("n_dims 12, not 13"), std::string::npos);
  other = options_;
  other.graph.metric = Metric::l2;
  EXPECT_NE(refused(other).find("metric \"cosine\", not \"l2\""), std::string::npos);
  index = open();
  ASSERT_TRUE(index);
  const std::vector<int64_t> ids = {1, 2};
  EXPECT_EQ(index->add(ids, drawn(1), pool_).code(), Code::invalid);
  EXPECT_EQ(index->add(std::vector<int64_t>{3, 3}, drawn(2), pool_).code(), Code::invalid);
  ASSERT_TRUE(index->add(ids, drawn(2), pool_).ok());
  EXPECT_EQ(index->add(std::vector<int64_t>{4, 2}, drawn(2), pool_).code(), Code::invalid);
  HnswSearch memory;
  std::vector<float> query(kDims, 1);
  query[3] = 1e16F;
  EXPECT_EQ(index->search(query, {}, memory).error().code(), Code::invalid);
  query.pop_back();
  EXPECT_EQ(index->search(query, {}, memory).error().code(), Code::invalid);
  EXPECT_EQ(index->vector(9).error().code(), Code::not_found);
  EXPECT_EQ(index->size(), 2);
}

// Every byte of every file: flipped, the index has all that it had, or says what is damaged: rows
// when they are read, all else when it is opened.
TEST_F(VectorIndexTest, AFlippedBitIsFound) {
  {
    auto index = open();
    ASSERT_TRUE(index->add(std::vector<int64_t>{10, 11, 12}, drawn(3), pool_).ok());
    ASSERT_TRUE(index->checkpoint().ok());
    ASSERT_TRUE(index->add(std::vector<int64_t>{13, 14}, drawn(2), pool_).ok());
  }
  auto index = open();
  const auto wanted = answers(*index);
  index.reset();
  int n_found = 0, n_harmless = 0;
  for (const fs::directory_entry& file : fs::directory_iterator(options_.folder)) {
    const auto size = std::min<uintmax_t>(fs::file_size(file), 700);
    for (uintmax_t at = 0; at < size; at += kTestShare) {
      const std::string copy = copy_of_index("copy");
      const std::string path = copy + "/" + file.path().filename().string();
      std::fstream bytes(path, std::ios::in | std::ios::out | std::ios::binary);
      bytes.seekg(static_cast<std::streamoff>(at));
      const auto byte = static_cast<char>(bytes.get() ^ (1 << (at % 8)));
      bytes.seekp(static_cast<std::streamoff>(at));
      bytes.put(byte);
      bytes.close();
      VectorIndexOptions options = options_;
      options.folder = copy;
      const auto opened = VectorIndex::open(options, pool_);
      if (opened) expect_right_or_refused(**opened, wanted);
      const Status status = opened ? (*opened)->check_all(pool_) : opened.error();
      (status.ok() ? n_harmless : n_found) += 1;
      if (!status.ok()) {
        EXPECT_EQ(status.code(), Code::corrupt) << status.message();
        continue;
      }
      EXPECT_EQ(answers(**opened), wanted) << path << " " << at;
    }
  }
  EXPECT_GT(n_found, 400 / static_cast<int>(kTestShare));
  // Rows that have no vector yet.
  EXPECT_GT(n_harmless, 0);
}

TEST_F(VectorIndexTest, DamagedVectorsCanBeLeftOut) {
  std::map<int64_t, std::vector<float>> vectors;
  {
    auto index = open();
    std::vector<int64_t> ids;
    for (int64_t id = 100; id < 150; ++id) ids.push_back(id);
    ASSERT_TRUE(index->add(ids, drawn(50), pool_).ok());
    for (const int64_t id : ids) vectors[id] = *index->vector(id);
    ASSERT_TRUE(index->checkpoint().ok());
  }
  std::fstream rows(options_.folder + "/rows-00000", std::ios::in | std::ios::out);
  rows.seekp(16 * 4 * 7 + 5);  // the eighth vector
  rows.put('x');
  rows.close();
  {
    // What reads it fails; the others are found.
    auto index = open();
    ASSERT_TRUE(index);
    HnswSearch memory;
    const auto failed = index->search(vectors[107], {.k = 3}, memory);
    ASSERT_FALSE(failed);
    EXPECT_NE(failed.error().message().find("id 107"), std::string::npos);
    EXPECT_EQ(index->vector(107).error().code(), Code::corrupt);
    EXPECT_EQ(*index->vector(106), vectors[106]);
    const NodeSet others = index->nodes_of(std::vector<int64_t>{101, 102});
    const auto found = index->search(vectors[101], {.k = 2, .among = &others}, memory);
    ASSERT_TRUE(found);
    EXPECT_EQ((*found)[0].id, 101);
    // A change would build on it.
    EXPECT_EQ(index->add(std::vector<int64_t>{1}, drawn(1), pool_).code(), Code::corrupt);
    EXPECT_EQ(index->remove(std::vector<int64_t>{101}, pool_).error().code(), Code::corrupt);
    EXPECT_EQ(index->check_all(pool_).code(), Code::corrupt);
  }
  options_.removes_damaged = true;
  {
    auto index = open();
    ASSERT_TRUE(index);
    EXPECT_EQ(index->n_damaged(), 1);
  }
  options_.removes_damaged = false;
  auto index = open();
  ASSERT_TRUE(index);
  EXPECT_EQ(index->size(), 49);
  EXPECT_FALSE(index->has(107));
  vectors.erase(107);
  for (const auto& [id, vector] : vectors) EXPECT_EQ(*index->vector(id), vector);
}

// An id that was removed and added again is not lost with the row that it had.
TEST_F(VectorIndexTest, ADamagedRowOfAnOlderVectorRemovesNone) {
  {
    auto index = open();
    ASSERT_TRUE(index->add(std::vector<int64_t>{1, 2, 3}, drawn(3), pool_).ok());
    ASSERT_TRUE(index->remove(std::vector<int64_t>{2}, pool_));
    ASSERT_TRUE(index->add(std::vector<int64_t>{2}, drawn(1), pool_).ok());
    ASSERT_TRUE(index->checkpoint().ok());
  }
  std::fstream rows(options_.folder + "/rows-00000", std::ios::in | std::ios::out);
  rows.seekp(16 * 4 * 1 + 5);  // the first vector of id 2
  rows.put('x');
  rows.close();
  options_.removes_damaged = true;
  auto index = open();
  ASSERT_TRUE(index);
  EXPECT_EQ(index->n_damaged(), 0);
  EXPECT_TRUE(index->has(2));
}

TEST_F(VectorIndexTest, AFilterOfIdsFindsThoseAlone) {
  auto index = open();
  std::vector<int64_t> ids;
  for (int64_t id = 0; id < 400; ++id) ids.push_back(id * 3);
  ASSERT_TRUE(index->add(ids, drawn(400), pool_).ok());
  const std::vector<int64_t> some = {3, 4, 33, 300, 900, 5000};
  const NodeSet nodes = index->nodes_of(some);
  EXPECT_EQ(nodes.size(), 4);
  HnswSearch memory;
  const auto found =
      *index->search(std::vector<float>(kDims, 1), {.k = 10, .among = &nodes}, memory);
  ASSERT_EQ(found.size(), 4U);
  for (const auto& one : found) EXPECT_TRUE(std::ranges::count(some, one.id));
}

}  // namespace
}  // namespace ruv::vector_index_test
