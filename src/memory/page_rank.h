// Personalised PageRank (Page, Brin, Motwani and Winograd, 1999): how often a walk is at each node
// that follows edges by their weights, and begins anew at chosen nodes. The same bits on every
// machine: sums in float64 in one order, and a fixed number of steps.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace ruv {

// Between two nodes, both ways. Requires: a weight above 0, finite.
struct RankEdge {
  uint32_t a = 0, b = 0;
  double weight = 0;
};

// The share of steps that follow an edge; nearer to 1, nodes farther away count more.
inline constexpr double kRankDamping = 0.85;
// What the shares still change by afterwards is below kRankDamping^kRankSteps, 3e-5.
inline constexpr int kRankSteps = 64;

// The share of each node, which add up to 1. `restart`: of each node the weight with which the walk
// begins there, at least one above 0; a node without edges leads there, too. Time in the edges and
// nodes, for each step. Requires: edges between nodes of `restart`.
std::vector<double> page_rank(std::span<const RankEdge> edges, std::span<const double> restart);

}  // namespace ruv
