#include "memory/page_rank.h"

namespace ruv {

std::vector<double> page_rank(std::span<const RankEdge> edges, std::span<const double> restart) {
  const size_t n = restart.size();
  std::vector<double> begin(restart.begin(), restart.end());
  double total = 0;
  for (const double weight : begin) total += weight;
  for (double& weight : begin) weight /= total;
  std::vector<double> leaving(n, 0);
  for (const RankEdge& edge : edges) {
    leaving[edge.a] += edge.weight;
    leaving[edge.b] += edge.weight;
  }
  std::vector<double> rank = begin, flow(n), next(n);
  for (int step = 0; step < kRankSteps; ++step) {
    double lost = 0;  // at nodes without edges
    for (size_t i = 0; i < n; ++i) {
      if (leaving[i] <= 0) lost += rank[i];
      flow[i] = leaving[i] > 0 ? rank[i] / leaving[i] : 0;
      next[i] = 0;
    }
    for (const RankEdge& edge : edges) {
      next[edge.b] += flow[edge.a] * edge.weight;
      next[edge.a] += flow[edge.b] * edge.weight;
    }
    for (size_t i = 0; i < n; ++i) {
      rank[i] = (1 - kRankDamping) * begin[i] + kRankDamping * (next[i] + lost * begin[i]);
    }
  }
  return rank;
}

}  // namespace ruv
