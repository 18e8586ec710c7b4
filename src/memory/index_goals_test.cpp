// What an index promises at any size. Small by default; the sizes of the goals:
//
//   RUV_DELETE_QUERIES=10000000 RUV_CHURNS=10 RUV_GOAL_VECTORS=100000 memory_tests
//     --gtest_filter='IndexGoals*'
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <thread>

#include "memory/test_clusters.h"
#include "memory/vector_index.h"

namespace ruv::index_goals_test {
namespace {

namespace fs = std::filesystem;

constexpr size_t kNearest = 10;

int64_t size_of(const char* name, int64_t otherwise) {
  const char* const wanted = std::getenv(name);
  return wanted != nullptr ? std::atoll(wanted) : otherwise;
}

class IndexGoals : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / ("ruv_index_goals_" + std::to_string(::getpid()));
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::unique_ptr<VectorIndex> made(const HnswOptions& graph) {
    VectorIndexOptions options;
    options.folder = folder_ / "index";
    options.graph = graph;
    auto index = VectorIndex::open(options, pool_);
    EXPECT_TRUE(index) << index.error().message();
    return index ? std::move(*index) : nullptr;
  }
  // Adds vectors under the next ids, and keeps them.
  void add(VectorIndex& index, Clusters& clusters, int64_t n) {
    const std::vector<float> points = clusters.points(n);
    std::vector<int64_t> ids;
    for (int64_t i = 0; i < n; ++i) {
      const float* const at = points.data() + i * clusters.n_dims;
      vectors_[next_id_] = {at, at + clusters.n_dims};
      ids.push_back(next_id_++);
    }
    const Status status = index.add(ids, points, pool_);
    ASSERT_TRUE(status.ok()) << status.message();
  }
  // The share of the nearest that is found, among the ids that `may` takes.
  template <class May>
  double recall(const VectorIndex& index, Clusters& clusters, int64_t n_queries,
                int64_t n_looked_at, May&& may) {
    std::vector<int64_t> ids;
    for (const auto& [id, vector] : vectors_) {
      if (may(id)) ids.push_back(id);
    }
    const NodeSet among = index.nodes_of(ids);
    const size_t k = std::min(kNearest, ids.size());
    HnswSearch memory;
    int64_t n_found = 0;
    for (int64_t q = 0; q < n_queries; ++q) {
      const std::vector<float> query = clusters.points(1);
      std::vector<std::pair<double, int64_t>> all;
      for (const int64_t id : ids) {
        all.emplace_back(distance_of(Metric::l2, query, vectors_[id]), id);
      }
      std::partial_sort(all.begin(), all.begin() + static_cast<ptrdiff_t>(k), all.end());
      all.resize(k);
      const auto found =
          *index.search(query, {static_cast<int64_t>(kNearest), n_looked_at, &among}, memory);
      for (const VectorIndex::Found& one : found) {
        EXPECT_TRUE(vectors_.contains(one.id) && may(one.id));
        n_found += std::ranges::count(all, one.id, &std::pair<double, int64_t>::second);
      }
    }
    return static_cast<double>(n_found) / static_cast<double>(n_queries * static_cast<int64_t>(k));
  }

  WorkerPool pool_{2};
  fs::path folder_;
  std::map<int64_t, std::vector<float>> vectors_;
  int64_t next_id_ = 0;
};

// Ids leave in ascending order while readers search: none finds one that had left before it began.
TEST_F(IndexGoals, NoDeletedIdIsFoundWhileIdsLeave) {
  constexpr int64_t kDims = 8, kIds = 1500, kAtOnce = 10;
  const int64_t n_queries = size_of("RUV_DELETE_QUERIES", 20000);
  const auto index = made({.n_dims = kDims, .m = 6, .n_looked_at = 24, .codes = VectorCodes::int8});
  ASSERT_TRUE(index);
  Clusters clusters(kDims, 1);
  add(*index, clusters, kIds);
  const std::vector<float> queries = clusters.points(997);
  std::atomic<int64_t> left_below = 0, n_asked = 0, n_wrong = 0, n_short = 0;
  std::vector<std::thread> readers;
  for (int64_t reader = 0; reader < 2; ++reader) {
    readers.emplace_back([&, reader] {
      HnswSearch memory;
      for (int64_t i = reader; n_asked.fetch_add(1) < n_queries; i += 2) {
        const int64_t below = left_below;
        const auto query = std::span(queries).subspan(static_cast<size_t>(i % 997 * kDims), kDims);
        const auto found = index->search(query, {.k = 5, .n_looked_at = 16}, memory);
        n_short += found && found->size() == 5 ? 0 : 1;
        if (!found) continue;
        n_wrong += std::ranges::count_if(*found, [&](const auto& one) { return one.id < below; });
      }
    });
  }
  int64_t first = 0;
  while (n_asked < n_queries) {
    std::vector<int64_t> gone;
    for (int64_t i = 0; i < kAtOnce; ++i) gone.push_back(first++);
    EXPECT_EQ(*index->remove(gone, pool_), kAtOnce);
    left_below = first;
    for (const int64_t id : gone) vectors_.erase(id);
    add(*index, clusters, kAtOnce);
  }
  for (std::thread& reader : readers) reader.join();
  EXPECT_EQ(n_wrong, 0);
  EXPECT_EQ(n_short, 0);
  EXPECT_GT(first, 0);
  EXPECT_EQ(index->size(), kIds);
  std::printf("%lld searches while %lld ids left: %lld found that had left\n",
              static_cast<long long>(n_queries), static_cast<long long>(first),
              static_cast<long long>(n_wrong.load()));
}

// All vectors are replaced by others, a tenth at a time, several times over.
TEST_F(IndexGoals, RecallStaysWhenAllIsReplaced) {
  constexpr int64_t kDims = 24;
  const int64_t n = size_of("RUV_GOAL_VECTORS", 2000), n_churns = size_of("RUV_CHURNS", 1);
  const auto index =
      made({.n_dims = kDims, .m = 16, .n_looked_at = 100, .codes = VectorCodes::int8});
  ASSERT_TRUE(index);
  Clusters clusters(kDims, 2);
  add(*index, clusters, n);
  const auto all = [](int64_t) { return true; };
  const double before = recall(*index, clusters, 600, 64, all);
  Rng rng(4);
  for (int64_t churn = 0; churn < n_churns; ++churn) {
    // In an order that is drawn: each leaves once.
    std::vector<std::pair<uint64_t, int64_t>> order;
    for (const auto& [id, vector] : vectors_) order.emplace_back(rng.next(), id);
    std::sort(order.begin(), order.end());
    for (int64_t at = 0; at < n; at += (n + 9) / 10) {
      std::vector<int64_t> gone;
      for (int64_t i = at; i < std::min(n, at + (n + 9) / 10); ++i) {
        gone.push_back(order[static_cast<size_t>(i)].second);
        vectors_.erase(gone.back());
      }
      EXPECT_EQ(*index->remove(gone, pool_), std::ssize(gone));
      add(*index, clusters, std::ssize(gone));
    }
  }
  EXPECT_EQ(index->size(), n);
  const double after = recall(*index, clusters, 600, 64, all);
  EXPECT_GE(after, before - 0.01);
  std::printf("%lld vectors replaced %lld times: recall %.4f, %.4f before\n",
              static_cast<long long>(n), static_cast<long long>(n_churns), after, before);
}

TEST_F(IndexGoals, FiltersOfAnyShareFindTheNearest) {
  constexpr int64_t kDims = 32;
  const int64_t n = size_of("RUV_GOAL_VECTORS", 4000);
  for (const VectorCodes codes : {VectorCodes::none, VectorCodes::int4, VectorCodes::product}) {
    fs::remove_all(folder_ / "index");
    vectors_.clear();
    next_id_ = 0;
    const auto index = made({.n_dims = kDims, .m = 12, .n_looked_at = 80, .codes = codes});
    ASSERT_TRUE(index);
    Clusters clusters(kDims, 3);
    add(*index, clusters, std::max<int64_t>(n, 4200));
    for (const int64_t share : {1, 10, 100, 500, 1000}) {  // of a thousand
      const double found =
          recall(*index, clusters, 40, 64, [&](int64_t id) { return id * 7919 % 1000 < share; });
      EXPECT_GE(found, 0.95) << name_of(codes) << " " << share;
      std::printf("%s, %.1f %%: recall %.4f\n", std::string(name_of(codes)).c_str(),
                  static_cast<double>(share) / 10, found);
    }
  }
}

// Opening compares no row, searches those that they read, check_all() the others.
TEST_F(IndexGoals, AnIndexOpensWithoutReadingItsVectors) {
  constexpr int64_t kDims = 16;
  const int64_t n = size_of("RUV_GOAL_VECTORS", 3000);
  Clusters clusters(kDims, 4);
  const HnswOptions graph{.n_dims = kDims, .m = 6, .n_looked_at = 24, .codes = VectorCodes::int8};
  {
    const auto index = made(graph);
    ASSERT_TRUE(index);
    add(*index, clusters, n);
    ASSERT_TRUE(index->checkpoint().ok());
  }
  fs::remove(folder_ / "index" / "rows-00000");
  const auto index = made(graph);
  ASSERT_TRUE(index);
  EXPECT_EQ(index->size(), n);
  HnswSearch memory;
  EXPECT_EQ(index->search(vectors_[3], {.k = 5}, memory).error().code(), Code::corrupt);
  EXPECT_EQ(index->check_all(pool_).code(), Code::corrupt);
}

}  // namespace
}  // namespace ruv::index_goals_test
