// PageRank of random graphs is what solving its equations gives, and the same bits each time.
#include "memory/page_rank.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/hash.h"
#include "base/rng.h"

namespace ruv::page_rank_test {
namespace {

struct RandomGraph {
  std::vector<RankEdge> edges;
  std::vector<double> restart;
};

RandomGraph drawn_graph(Rng& rng) {
  RandomGraph graph;
  const size_t n = 1 + rng.below(30);
  for (size_t i = 0; i < n; ++i) graph.restart.push_back(rng.below(3) == 0 ? rng.uniform() : 0);
  graph.restart[rng.below(n)] = 0.5;
  for (uint32_t a = 0; a < n; ++a) {
    for (uint32_t b = a + 1; b < n; ++b) {
      if (rng.below(n) < 3) graph.edges.push_back({a, b, 0.01 + rng.uniform()});
    }
  }
  return graph;
}

// The shares that one more step would not change, by elimination in a dense matrix.
std::vector<double> solved(const RandomGraph& graph) {
  const size_t n = graph.restart.size();
  std::vector<std::vector<double>> weights(n, std::vector<double>(n, 0));
  for (const RankEdge& edge : graph.edges) {
    weights[edge.a][edge.b] += edge.weight;
    weights[edge.b][edge.a] += edge.weight;
  }
  double total = 0;
  for (const double weight : graph.restart) total += weight;
  std::vector<std::vector<double>> rows(n, std::vector<double>(n + 1, 0));
  for (size_t i = 0; i < n; ++i) rows[i][i] = 1;
  for (size_t from = 0; from < n; ++from) {
    double leaving = 0;
    for (const double weight : weights[from]) leaving += weight;
    for (size_t to = 0; to < n; ++to) {
      const double chance = leaving > 0 ? weights[from][to] / leaving : graph.restart[to] / total;
      rows[to][from] -= kRankDamping * chance;
    }
  }
  for (size_t i = 0; i < n; ++i) rows[i][n] = (1 - kRankDamping) * graph.restart[i] / total;
  for (size_t at = 0; at < n; ++at) {
    size_t best = at;
    for (size_t i = at; i < n; ++i) {
      if (std::fabs(rows[i][at]) > std::fabs(rows[best][at])) best = i;
    }
    std::swap(rows[at], rows[best]);
    for (size_t i = 0; i < n; ++i) {
      if (i == at) continue;
      const double factor = rows[i][at] / rows[at][at];
      for (size_t j = at; j <= n; ++j) rows[i][j] -= factor * rows[at][j];
    }
  }
  std::vector<double> shares(n);
  for (size_t i = 0; i < n; ++i) shares[i] = rows[i][n] / rows[i][i];
  return shares;
}

TEST(PageRank, IsWhatItsEquationsGive) {
  Rng rng(11);
  const double error = 2 * std::pow(kRankDamping, kRankSteps);
  for (int turn = 0; turn < 300; ++turn) {
    const RandomGraph graph = drawn_graph(rng);
    const std::vector<double> shares = page_rank(graph.edges, graph.restart);
    const std::vector<double> exact = solved(graph);
    double sum = 0;
    for (size_t i = 0; i < shares.size(); ++i) {
      ASSERT_NEAR(shares[i], exact[i], error) << turn;
      sum += shares[i];
    }
    EXPECT_NEAR(sum, 1, 1e-12);
  }
}

TEST(PageRank, IsTheSameOnEachMachine) {
  Rng rng(12);
  uint64_t hash = 0;
  for (int turn = 0; turn < 100; ++turn) {
    const RandomGraph graph = drawn_graph(rng);
    const std::vector<double> shares = page_rank(graph.edges, graph.restart);
    hash = hash_bytes(std::as_bytes(std::span(shares)), hash);
  }
  EXPECT_EQ(hash, 9347038174188097906U);
}

// Along a path from one end, a hub and a node that nothing leads to.
TEST(PageRank, NearNodesHaveMore) {
  const RankEdge path[] = {{0, 1, 1}, {1, 2, 1}, {2, 3, 1}};
  const auto shares = page_rank(path, std::vector<double>{1, 0, 0, 0, 0});
  EXPECT_GT(shares[1], shares[2]);
  EXPECT_GT(shares[2], shares[3]);
  EXPECT_EQ(shares[4], 0);
  EXPECT_EQ(page_rank({}, std::vector<double>{3, 1}), (std::vector<double>{0.75, 0.25}));
}

}  // namespace
}  // namespace ruv::page_rank_test
