// The graph finds what comparing with everything finds, and does not depend on threads.
#include "memory/hnsw.h"

#include <gtest/gtest.h>

#include <cmath>
#include <thread>

#include "base/rng.h"

namespace ruv::hnsw_test {
namespace {

// Points around centres, as embeddings lie.
std::vector<float> clustered(int64_t n, int64_t n_dims, uint64_t seed) {
  Rng rng(seed);
  constexpr int64_t kCentres = 40;
  const auto draw = [&] {
    double sum = 0;
    for (int i = 0; i < 6; ++i) sum += rng.uniform() - 0.5;
    return static_cast<float>(sum);
  };
  std::vector<float> centres(static_cast<size_t>(kCentres * n_dims));
  for (float& x : centres) x = draw();
  std::vector<float> points;
  for (int64_t i = 0; i < n; ++i) {
    const auto centre = static_cast<int64_t>(rng.below(kCentres)) * n_dims;
    for (int64_t d = 0; d < n_dims; ++d) {
      points.push_back(centres[static_cast<size_t>(centre + d)] + 0.4F * draw());
    }
  }
  return points;
}

std::vector<Neighbour> by_comparing_all(const Hnsw& index, std::vector<float> query, size_t k,
                                        const NodeSet* among = nullptr) {
  const HnswOptions& options = index.options();
  Hnsw one(options);
  WorkerPool pool(1);
  EXPECT_TRUE(one.add(query, pool).ok());
  const auto q = one.vector(0);
  std::vector<Neighbour> all;
  for (uint32_t i = 0; i < index.n_nodes(); ++i) {
    if (!index.has(i) || (among != nullptr && !among->has(i))) continue;
    const auto x = index.vector(i);
    double sum = 0;
    for (size_t d = 0; d < x.size(); ++d) {
      const double difference = double{q[d]} - double{x[d]};
      switch (options.metric) {
        case Metric::l2:
          sum += difference * difference;
          break;
        case Metric::manhattan:
          sum += std::abs(difference);
          break;
        default:
          sum -= double{q[d]} * double{x[d]};
      }
    }
    all.push_back({static_cast<float>(sum), i});
  }
  std::sort(all.begin(), all.end());
  all.resize(std::min(k, all.size()));
  return all;
}

double recall(const Hnsw& index, int64_t n_looked_at, size_t k, uint64_t seed,
              const NodeSet* among = nullptr) {
  const int64_t n_dims = index.options().n_dims;
  HnswSearch memory;
  std::vector<Neighbour> found;
  const std::vector<float> queries = clustered(30, n_dims, seed);
  double n_found = 0, n_all = 0;
  for (int64_t i = 0; i < 30; ++i) {
    const std::vector<float> query(queries.begin() + i * n_dims,
                                   queries.begin() + (i + 1) * n_dims);
    index.search(query.data(), {static_cast<int64_t>(k), n_looked_at, among}, memory, found);
    for (const Neighbour& wanted : by_comparing_all(index, query, k, among)) {
      n_found += std::ranges::count(found, wanted.node, &Neighbour::node) > 0 ? 1 : 0;
      n_all += 1;
    }
  }
  return n_found / n_all;
}

TEST(Hnsw, FindsTheNearest) {
  WorkerPool pool(2);
  for (const Metric metric : {Metric::l2, Metric::cosine, Metric::dot, Metric::manhattan}) {
    Hnsw index({.metric = metric, .n_dims = 20, .m = 12, .n_looked_at = 80});
    ASSERT_TRUE(index.add(clustered(3000, 20, 1), pool).ok());
    EXPECT_EQ(index.size(), 3000);
    EXPECT_GT(recall(index, 100, 10, 1), 0.95) << static_cast<int>(metric);
  }
}

TEST(Hnsw, CodesFindTheNearestAndGiveExactDistances) {
  WorkerPool pool(2);
  for (const Metric metric : {Metric::l2, Metric::cosine, Metric::dot}) {
    HnswOptions options{.metric = metric, .n_dims = 48, .m = 12, .n_looked_at = 80};
    Hnsw exact(options);
    options.codes = VectorCodes::int8;
    Hnsw index(options);
    const std::vector<float> points = clustered(2000, 48, 1);
    ASSERT_TRUE(index.add(points, pool).ok());
    ASSERT_TRUE(exact.add(points, pool).ok());
    EXPECT_GT(recall(index, 100, 10, 1), 0.95) << static_cast<int>(metric);
    HnswSearch memory;
    std::vector<Neighbour> found, wanted;
    index.search(points.data(), {1, 50}, memory, found);
    exact.search(points.data(), {1, 50}, memory, wanted);
    EXPECT_EQ(found, wanted);
  }
  EXPECT_FALSE(check({.metric = Metric::manhattan, .n_dims = 4, .codes = VectorCodes::int8}).ok());
}

TEST(Hnsw, IsTheSameForAnyNumberOfThreads) {
  const std::vector<float> points = clustered(2500, 24, 3);
  std::vector<std::vector<Neighbour>> results[2];
  for (const int n_threads : {1, 3}) {
    WorkerPool pool(n_threads);
    Hnsw index({.n_dims = 24, .m = 8, .n_looked_at = 60});
    ASSERT_TRUE(index.add(points, pool).ok());
    HnswSearch memory;
    for (int64_t i = 0; i < 200; ++i) {
      std::vector<Neighbour> found;
      index.search(points.data() + i * 24, {10, 20}, memory, found);
      EXPECT_EQ(found.front().distance, 0);
      results[n_threads == 1 ? 0 : 1].push_back(found);
    }
  }
  EXPECT_EQ(results[0], results[1]);
}

TEST(Hnsw, FewVectorsAndManyWanted) {
  WorkerPool pool(1);
  Hnsw index({.n_dims = 3, .m = 4, .n_looked_at = 10});
  HnswSearch memory;
  std::vector<Neighbour> found(1);
  const float query[] = {1, 2, 3};
  index.search(query, {5, 10}, memory, found);
  EXPECT_TRUE(found.empty());
  for (int i = 0; i < 7; ++i) {
    ASSERT_TRUE(index.add(std::vector<float>{1, 2, static_cast<float>(i)}, pool).ok());
  }
  index.search(query, {100, 1}, memory, found);
  ASSERT_EQ(found.size(), 7U);
  EXPECT_EQ(found[0], (Neighbour{0, 3}));
  EXPECT_EQ(found[1], (Neighbour{1, 2}));  // of two at one distance the lower number
  EXPECT_EQ(found[2], (Neighbour{1, 4}));
}

TEST(Hnsw, EqualVectorsAreAllFound) {
  WorkerPool pool(2);
  Hnsw index({.n_dims = 4, .m = 4, .n_looked_at = 32});
  ASSERT_TRUE(index.add(std::vector<float>(4 * 500, 1.0F), pool).ok());
  HnswSearch memory;
  std::vector<Neighbour> found;
  const float query[] = {1, 1, 1, 1};
  index.search(query, {20, 64}, memory, found);
  EXPECT_EQ(found.size(), 20U);
}

TEST(Hnsw, BadNumbersAreRefusedAndLoseNothing) {
  WorkerPool pool(1);
  Hnsw index({.metric = Metric::cosine, .n_dims = 2, .m = 4, .n_looked_at = 10});
  ASSERT_TRUE(index.add(std::vector<float>{1, 0}, pool).ok());
  EXPECT_FALSE(index.add(std::vector<float>{1, NAN}, pool).ok());
  EXPECT_FALSE(index.add(std::vector<float>{1, 2, 0, 0}, pool).ok());
  EXPECT_FALSE(index.add(std::vector<float>{1}, pool).ok());
  EXPECT_EQ(index.size(), 1);
  ASSERT_TRUE(index.add(std::vector<float>{0, 1}, pool).ok());
  EXPECT_EQ(index.size(), 2);
  EXPECT_FALSE(check(HnswOptions{.n_dims = 0}).ok());
  EXPECT_FALSE(check(HnswOptions{.n_dims = 4, .m = 1}).ok());
}

TEST(Hnsw, IsSearchedWhileItGrows) {
  WorkerPool pool(1);
  Hnsw index({.n_dims = 8, .m = 6, .n_looked_at = 30});
  const std::vector<float> points = clustered(3000, 8, 7);
  ASSERT_TRUE(index.add(std::span(points).first(8 * 10), pool).ok());
  std::atomic<bool> ends = false;
  std::thread reader([&] {
    HnswSearch memory;
    std::vector<Neighbour> found;
    while (!ends) {
      index.search(points.data(), {5, 20}, memory, found);
      EXPECT_EQ(found.front().node, 0U);
    }
  });
  for (size_t at = 80; at < points.size(); at += 8 * 73) {
    const size_t n = std::min<size_t>(8 * 73, points.size() - at);
    ASSERT_TRUE(index.add(std::span(points).subspan(at, n), pool).ok());
  }
  ends = true;
  reader.join();
  EXPECT_EQ(index.size(), 3000);
}

// Each vector leaves and another comes in its place, several times over.
TEST(Hnsw, StaysGoodWhenAllIsReplaced) {
  WorkerPool pool(2);
  Hnsw index({.n_dims = 16, .m = 10, .n_looked_at = 60, .codes = VectorCodes::int8});
  std::vector<uint32_t> nodes;
  ASSERT_TRUE(index.add(clustered(2000, 16, 1), pool, nodes).ok());
  const double before = recall(index, 60, 10, 1);
  Rng rng(5);
  for (int turn = 0; turn < 30; ++turn) {
    std::vector<uint32_t> gone;
    for (int i = 0; i < 200; ++i) {
      const size_t at = static_cast<size_t>(rng.below(static_cast<uint32_t>(nodes.size())));
      gone.push_back(nodes[at]);
      nodes[at] = nodes.back();
      nodes.pop_back();
    }
    EXPECT_EQ(index.remove(gone), 200);
    EXPECT_EQ(index.remove(gone), 0);
    HnswSearch memory;
    std::vector<Neighbour> found;
    for (const uint32_t node : gone) {
      index.search(index.vector(node).data(), {10, 20}, memory, found);
      EXPECT_EQ(found.size(), 10U);
      for (const Neighbour& one : found) EXPECT_FALSE(std::ranges::count(gone, one.node));
    }
    index.repair(pool);
    EXPECT_EQ(index.n_removed(), 0);
    const std::vector<float> more = clustered(200, 16, 1);
    ASSERT_TRUE(index.add(more, pool, nodes).ok());
    EXPECT_EQ(index.size(), 2000);
    EXPECT_EQ(index.n_nodes(), 2000);
  }
  EXPECT_GT(recall(index, 60, 10, 1), before - 0.02);
}

TEST(Hnsw, RepairIsTheSameForAnyNumberOfThreads) {
  const std::vector<float> points = clustered(1500, 12, 3);
  std::vector<std::vector<Neighbour>> results[2];
  for (const int n_threads : {1, 3}) {
    WorkerPool pool(n_threads);
    Hnsw index({.n_dims = 12, .m = 6, .n_looked_at = 40});
    ASSERT_TRUE(index.add(points, pool).ok());
    std::vector<uint32_t> gone;
    for (uint32_t node = 0; node < 1500; node += 1 + node % 3) gone.push_back(node);
    index.remove(gone);
    index.repair(pool);
    ASSERT_TRUE(index.add(std::span(points).first(12 * 300), pool).ok());
    HnswSearch memory;
    for (int64_t i = 0; i < 200; ++i) {
      std::vector<Neighbour> found;
      index.search(points.data() + i * 12, {10, 20}, memory, found);
      results[n_threads == 1 ? 0 : 1].push_back(found);
    }
  }
  EXPECT_EQ(results[0], results[1]);
}

// Also those that were linked to removed ones alone.
TEST(Hnsw, WhatIsLeftOfEqualVectorsIsFound) {
  WorkerPool pool(2);
  for (const uint32_t left : {1U, 7U, 120U}) {
    Hnsw index({.n_dims = 4, .m = 4, .n_looked_at = 32});
    ASSERT_TRUE(index.add(std::vector<float>(4 * 600, 1.0F), pool).ok());
    std::vector<uint32_t> gone;
    for (uint32_t node = 0; node < 600; ++node) {
      if (node % (600 / left) != 3 % (600 / left)) gone.push_back(node);
    }
    EXPECT_EQ(index.remove(gone), std::ssize(gone));
    index.repair(pool);
    HnswSearch memory;
    std::vector<Neighbour> found;
    const float query[] = {1, 1, 1, 1};
    index.search(query, {600, 600}, memory, found);
    EXPECT_EQ(std::ssize(found), index.size());
  }
}

TEST(Hnsw, AllMayBeRemovedAndOthersAdded) {
  WorkerPool pool(1);
  Hnsw index({.n_dims = 2, .m = 4, .n_looked_at = 8});
  std::vector<uint32_t> nodes;
  ASSERT_TRUE(index.add(clustered(50, 2, 1), pool, nodes).ok());
  EXPECT_EQ(index.remove(nodes), 50);
  HnswSearch memory;
  std::vector<Neighbour> found;
  const float query[] = {0, 0};
  index.search(query, {5, 5}, memory, found);
  EXPECT_TRUE(found.empty());
  // Before the repair: the new ones hang on removed nodes alone.
  ASSERT_TRUE(index.add(clustered(3, 2, 2), pool, nodes).ok());
  index.search(query, {5, 5}, memory, found);
  EXPECT_EQ(found.size(), 3U);
  index.repair(pool);
  index.search(query, {5, 5}, memory, found);
  EXPECT_EQ(found.size(), 3U);
  EXPECT_EQ(index.remove(std::vector<uint32_t>{50, 51, 52, 53}), 3);
  index.repair(pool);
  EXPECT_EQ(index.size(), 0);
  nodes.clear();
  ASSERT_TRUE(index.add(clustered(60, 2, 3), pool, nodes).ok());
  EXPECT_EQ(nodes[0], 0U);
  EXPECT_EQ(index.n_nodes(), 60);
  index.search(query, {100, 100}, memory, found);
  EXPECT_EQ(found.size(), 60U);
}

TEST(Hnsw, FiltersOfAnySizeFindTheNearest) {
  WorkerPool pool(2);
  for (const VectorCodes codes : {VectorCodes::none, VectorCodes::int8}) {
    Hnsw index({.n_dims = 16, .m = 12, .n_looked_at = 80, .codes = codes});
    ASSERT_TRUE(index.add(clustered(6000, 16, 1), pool).ok());
    for (const uint32_t share : {1U, 10U, 100U, 500U, 900U, 1000U}) {  // of a thousand
      NodeSet some, part;
      for (uint32_t node = 0; node < 6000; ++node) {
        if (node * 7919 % 1000 < share) some.insert(node);
        if (node < 6 * share) part.insert(node);
      }
      EXPECT_GT(recall(index, 64, 10, 1, &some), 0.95) << share;
      EXPECT_GT(recall(index, 64, 10, 1, &part), 0.95) << share;
    }
    // All that may be found is far from the query.
    NodeSet far;
    HnswSearch memory;
    std::vector<Neighbour> found;
    index.search(index.vector(0).data(), {6000, 6000}, memory, found);
    ASSERT_EQ(found.size(), 6000U);
    for (size_t i = 3000; i < 6000; ++i) far.insert(found[i].node);
    std::vector<Neighbour> nearest;
    index.search(index.vector(0).data(), {10, 64, &far}, memory, nearest);
    ASSERT_EQ(nearest.size(), 10U);
    EXPECT_EQ(nearest[0], found[3000]);
    const NodeSet none;
    index.search(index.vector(0).data(), {10, 64, &none}, memory, nearest);
    EXPECT_TRUE(nearest.empty());
  }
}

TEST(Hnsw, NoRemovedNodeIsFoundWhileOthersSearch) {
  WorkerPool pool(1);
  Hnsw index({.n_dims = 8, .m = 6, .n_looked_at = 30});
  const std::vector<float> points = clustered(2000, 8, 7);
  std::vector<uint32_t> nodes;
  ASSERT_TRUE(index.add(points, pool, nodes).ok());
  // Nodes below this were removed before, and nothing is added.
  std::atomic<uint32_t> removed_below = 0;
  std::atomic<bool> ends = false;
  std::thread reader([&] {
    HnswSearch memory;
    std::vector<Neighbour> found;
    for (size_t at = 0; !ends; at = (at + 8) % points.size()) {
      const uint32_t below = removed_below;
      index.search(points.data() + at, {5, 20}, memory, found);
      EXPECT_EQ(found.size(), 5U);
      for (const Neighbour& one : found) EXPECT_GE(one.node, below);
    }
  });
  for (uint32_t at = 0; at < 1900; at += 19) {
    index.remove(std::span(nodes).subspan(at, 19));
    removed_below = at + 19;
    if (at % 190 == 0) index.repair(pool);
  }
  ends = true;
  reader.join();
  EXPECT_EQ(index.size(), 100);
}

}  // namespace
}  // namespace ruv::hnsw_test
