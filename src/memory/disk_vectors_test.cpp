// A store's vectors are the same before and after they are packed, and a crash between leaves one
// or the other.
#include "memory/disk_vectors.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <map>
#include <thread>

#include "base/folder.h"
#include "memory/store.h"
#include "memory/test_clusters.h"

namespace ruv::disk_vectors_test {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kDims = 20;

class DiskVectorsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / ("ruv_disk_vectors_" + std::to_string(::getpid()));
    fs::remove_all(folder_);
    fs::create_directories(folder_);
    options_.folder = folder_ / "vectors";
    options_.graph = {.metric = Metric::cosine, .n_dims = kDims, .codes = VectorCodes::int8};
    options_.label = "a store";
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::unique_ptr<DiskVectors> open() {
    auto vectors = DiskVectors::open(options_, pool_);
    EXPECT_TRUE(vectors) << vectors.error().message();
    return vectors ? std::move(*vectors) : nullptr;
  }
  void add(DiskVectors& vectors, int64_t n) {
    const std::vector<float> points = clusters_.points(n);
    std::vector<int64_t> ids;
    for (int64_t i = 0; i < n; ++i) {
      const float* const at = points.data() + i * kDims;
      points_[next_] = {at, at + kDims};
      ids.push_back(next_++);
    }
    const Status status = vectors.add(ids, points, pool_);
    ASSERT_TRUE(status.ok()) << status.message();
  }
  void remove_each(DiskVectors& vectors, int64_t nth) {
    std::vector<int64_t> ids;
    for (const auto& [id, point] : points_) {
      if (id % nth == 0) ids.push_back(id);
    }
    for (const int64_t id : ids) points_.erase(id);
    const auto n = vectors.remove(ids, pool_);
    ASSERT_TRUE(n) << n.error().message();
    EXPECT_EQ(*n, std::ssize(ids));
  }
  // All that is there and nothing else; nearly all of the nearest, also among a third.
  void expect_sound(const DiskVectors& vectors) {
    std::vector<int64_t> ids = vectors.ids(), wanted, third;
    std::ranges::sort(ids);
    for (const auto& [id, point] : points_) {
      wanted.push_back(id);
      if (id % 3 == 1) third.push_back(id);
      EXPECT_TRUE(vectors.has(id));
    }
    EXPECT_EQ(ids, wanted);
    EXPECT_EQ(vectors.size(), std::ssize(wanted));
    DiskVectors::Search memory;
    for (const std::vector<int64_t>* const among :
         {static_cast<const std::vector<int64_t>*>(nullptr),
          static_cast<const std::vector<int64_t>*>(&third)}) {
      int64_t n_found = 0, n_wanted = 0;
      const std::vector<float> queries = clusters_.points(30);
      for (size_t q = 0; q < 30; ++q) {
        const auto query = std::span(queries).subspan(q * kDims, kDims);
        std::vector<std::pair<double, int64_t>> all;
        for (const auto& [id, point] : points_) {
          if (among != nullptr && id % 3 != 1) continue;
          all.push_back({distance_of(Metric::cosine, query, point), id});
        }
        std::sort(all.begin(), all.end());
        all.resize(std::min<size_t>(all.size(), 10));
        const auto found = vectors.search(query, {.k = 10, .among = among}, memory);
        ASSERT_TRUE(found) << found.error().message();
        EXPECT_TRUE(std::ranges::is_sorted(*found, {}, &DiskVectors::Found::distance));
        EXPECT_LE(found->size(), 10U);
        n_wanted += std::ssize(all);
        for (const auto& one : *found) {
          EXPECT_TRUE(points_.contains(one.id));
          n_found += std::ranges::count(all, one.id, &std::pair<double, int64_t>::second);
        }
      }
      EXPECT_GE(n_found, n_wanted * 95 / 100);
    }
  }

  WorkerPool pool_{2};
  Clusters clusters_{kDims, 9};
  std::map<int64_t, std::vector<float>> points_;
  int64_t next_ = 1;
  fs::path folder_;
  VectorIndexOptions options_;
};

TEST_F(DiskVectorsTest, PackingChangesWhereVectorsAreAlone) {
  auto vectors = open();
  ASSERT_TRUE(vectors);
  EXPECT_FALSE(*vectors->pack(pool_));  // there are none
  for (int64_t round = 1; round <= 3; ++round) {
    add(*vectors, 900);
    remove_each(*vectors, 11 + round);
    expect_sound(*vectors);
    const auto before = vectors->vector(points_.begin()->first);
    ASSERT_TRUE(before);
    const auto is_new = vectors->pack(pool_);
    ASSERT_TRUE(is_new) << is_new.error().message();
    EXPECT_TRUE(*is_new);
    EXPECT_FALSE(*vectors->pack(pool_));
    EXPECT_EQ(vectors->n_packed(), std::ssize(points_));
    EXPECT_EQ(*vectors->vector(points_.begin()->first), *before);
    expect_sound(*vectors);
    // Those of now lie in both places.
    add(*vectors, 50);
    remove_each(*vectors, 17);
    expect_sound(*vectors);
    const std::vector<int64_t> known = {points_.begin()->first};
    EXPECT_EQ(vectors->add(known, clusters_.points(1), pool_).code(), Code::invalid);
    vectors.reset();
    vectors = open();
    ASSERT_TRUE(vectors);
    expect_sound(*vectors);
  }
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(options_.folder)) {
    names.push_back(entry.path().filename());
  }
  std::ranges::sort(names);
  ASSERT_EQ(names.size(), 5U);
  EXPECT_EQ(names[0], "disk-3");
  EXPECT_EQ(names[1], "disk-3.removed");
  EXPECT_EQ(names[2], "lock");
  EXPECT_EQ(names[4], "since-3");
}

TEST_F(DiskVectorsTest, MemoryIsGivenBack) {
  auto vectors = open();
  add(*vectors, 3000);
  const int64_t before = vectors->n_bytes();
  ASSERT_TRUE(vectors->pack(pool_));
  EXPECT_LT(vectors->n_bytes(), before);
}

TEST_F(DiskVectorsTest, ACopyIsWhole) {
  auto vectors = open();
  add(*vectors, 400);
  ASSERT_TRUE(vectors->pack(pool_));
  remove_each(*vectors, 7);
  add(*vectors, 40);
  ASSERT_TRUE(vectors->copy_to(folder_ / "copy").ok());
  options_.folder = folder_ / "copy";
  const auto copy = open();
  ASSERT_TRUE(copy);
  EXPECT_GT(copy->n_packed(), 0);
  expect_sound(*copy);
}

// What is there before the log of a packed index is written is removed when it is opened; what the
// log leaves to be removed, too.
TEST_F(DiskVectorsTest, APackingThatWasCutShortChangesNothing) {
  const fs::path before = folder_ / "before", after = folder_ / "after";
  auto vectors = open();
  add(*vectors, 300);
  ASSERT_TRUE(vectors->checkpoint().ok());
  fs::copy(options_.folder, before, fs::copy_options::recursive);
  ASSERT_TRUE(vectors->pack(pool_));
  vectors.reset();
  fs::copy(options_.folder, after, fs::copy_options::recursive);
  fs::copy(after / "disk-1", before / "disk-1");
  fs::copy(after / "since-1", before / "since-1", fs::copy_options::recursive);
  fs::create_directory(before / "packing");
  options_.folder = before;
  vectors = open();
  ASSERT_TRUE(vectors);
  EXPECT_EQ(vectors->n_packed(), 0);
  expect_sound(*vectors);
  EXPECT_FALSE(fs::exists(before / "disk-1"));
  EXPECT_FALSE(fs::exists(before / "since-1"));
  EXPECT_FALSE(fs::exists(before / "packing"));
  vectors.reset();
  // The log was written, and nothing removed yet.
  for (const auto& entry : fs::directory_iterator(after)) {
    const fs::path to = before / entry.path().filename();
    if (!fs::exists(to)) fs::copy(entry.path(), to, fs::copy_options::recursive);
  }
  vectors = open();
  ASSERT_TRUE(vectors);
  EXPECT_EQ(vectors->n_packed(), 300);
  expect_sound(*vectors);
  EXPECT_FALSE(fs::exists(before / "rows-00000"));
  EXPECT_FALSE(fs::exists(before / "log-1"));
}

TEST_F(DiskVectorsTest, APackingThatFailsChangesNothing) {
  auto vectors = open();
  add(*vectors, 200);
  const fs::path folder = options_.folder;
  fs::create_directory(folder / "disk-1");  // in the file's place
  EXPECT_FALSE(vectors->pack(pool_));
  expect_sound(*vectors);
  EXPECT_EQ(vectors->n_packed(), 0);
  EXPECT_FALSE(fs::exists(folder / "since-1"));
  EXPECT_FALSE(fs::exists(folder / "packing"));
  add(*vectors, 20);
  fs::remove(folder / "disk-1");
  const auto packed = vectors->pack(pool_);
  EXPECT_TRUE(packed && *packed);
  // Damage of what was packed is found when it is packed again.
  fs::resize_file(folder / "disk-1", fs::file_size(folder / "disk-1") - 100);
  add(*vectors, 20);
  EXPECT_FALSE(vectors->pack(pool_));
  EXPECT_FALSE(fs::exists(folder / "disk-2"));
  EXPECT_FALSE(fs::exists(folder / "packing"));
  EXPECT_EQ(vectors->size(), 240);
}

// Programs from before there were packed stores open this folder as an index.
TEST_F(DiskVectorsTest, AnIndexRefusesAPackedFolder) {
  auto vectors = open();
  add(*vectors, 30);
  ASSERT_TRUE(vectors->pack(pool_));
  EXPECT_EQ(VectorIndex::open(options_, pool_).error().code(), Code::unsupported);
  EXPECT_EQ(DiskVectors::open(options_, pool_).error().code(), Code::unavailable);
  vectors.reset();
  EXPECT_EQ(VectorIndex::open(options_, pool_).error().code(), Code::unsupported);
  vectors = open();
  ASSERT_TRUE(vectors);
  expect_sound(*vectors);
}

// Threads that search find as many as they ask for while vectors come, are packed and go.
TEST_F(DiskVectorsTest, SearchesRunWhileVectorsArePacked) {
  auto vectors = open();
  add(*vectors, 200);
  const std::vector<float> queries = clusters_.points(8);
  std::atomic<bool> has_ended = false;
  std::atomic<int64_t> n_short = 0;
  std::vector<std::thread> threads;
  for (size_t t = 0; t < 2; ++t) {
    threads.emplace_back([&, t] {
      DiskVectors::Search memory;
      for (size_t i = t; !has_ended; ++i) {
        const auto query = std::span(queries).subspan(i % 8 * kDims, kDims);
        const auto found = vectors->search(query, {.k = 10}, memory);
        if (!found || found->size() != 10 || vectors->size() < 100) ++n_short;
      }
    });
  }
  for (int64_t round = 0; round < 4; ++round) {
    add(*vectors, 40);
    remove_each(*vectors, 13 + round);
    const auto packed = vectors->pack(pool_);
    EXPECT_TRUE(packed && *packed);
    remove_each(*vectors, 23 + round);
  }
  has_ended = true;
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(n_short, 0);
  expect_sound(*vectors);
}

TEST_F(DiskVectorsTest, EncryptedVectorsAreNotPacked) {
  options_.keys = std::make_shared<const StoreKeys>(SealKey{});
  auto vectors = open();
  ASSERT_TRUE(vectors);
  add(*vectors, 30);
  const auto packed = vectors->pack(pool_);
  ASSERT_FALSE(packed);
  EXPECT_EQ(packed.error().code(), Code::unsupported);
  EXPECT_FALSE(fs::exists(fs::path(options_.folder) / "disk-1"));
  expect_sound(*vectors);
}

// A store of packed vectors: documents are found, replaced and removed as before.
TEST_F(DiskVectorsTest, AStoreIsPacked) {
  MemoryStoreOptions options;
  options.folder = folder_ / "store";
  options.embedder = "e";
  options.n_dims = kDims;
  std::map<std::string, std::vector<float>> kept;
  const auto put = [&](MemoryStore& store, const std::string& name) {
    const std::vector<float> vector = clusters_.points(1);
    const std::vector<TextChunk> chunks = {{0, std::ssize(name), "", 0}};
    const auto id = store.add({name, name, chunks, vector, Json{{"name", name}}}, pool_);
    ASSERT_TRUE(id) << id.error().message();
    kept[name] = vector;
  };
  const auto expect_found = [&](MemoryStore& store) {
    for (const auto& [name, vector] : kept) {
      const auto found = store.search({.vector = vector, .k = 1});
      ASSERT_TRUE(found) << found.error().message();
      ASSERT_EQ(found->size(), 1U);
      EXPECT_EQ((*found)[0].document, name);
      MemoryQuery filtered{.vector = vector, .k = 3};
      filtered.metadata = Json{{"name", name}};
      EXPECT_EQ(store.search(filtered)->size(), 1U);
    }
    EXPECT_EQ(store.stats()->n_vectors, std::ssize(kept));
  };
  for (int opened = 0; opened < 3; ++opened) {
    auto store = MemoryStore::open(options, pool_);
    ASSERT_TRUE(store) << store.error().message();
    for (int i = 0; i < 30; ++i) put(**store, "n" + std::to_string(opened * 20 + i));
    EXPECT_TRUE(*(*store)->pack(pool_));
    expect_found(**store);
    const std::string gone = "n" + std::to_string(opened * 20 + 4);
    put(**store, "n3");  // another vector for a packed document
    EXPECT_TRUE(*(*store)->remove(gone, pool_));
    kept.erase(gone);
    put(**store, "later");
    expect_found(**store);
    EXPECT_GT((*store)->stats()->n_packed, 0);
    const auto document = (*store)->next_document(0, true);
    ASSERT_TRUE(document) << document.error().message();
    EXPECT_EQ((*document)->vectors.size(), static_cast<size_t>(kDims));
  }
}

}  // namespace
}  // namespace ruv::disk_vectors_test
