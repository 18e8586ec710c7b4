// DiskGraph: the graph of an index on disk (Vamana; Subramanya and others, 2019). It has one level:
// a node links to near nodes, and to one farther away where no link that it has leads there by a
// factor alpha. So a walk comes near to any place in few steps, each of which costs a read.
//
// Nodes are added in batches that grow with the graph, in a drawn order. Each of a batch looks for
// its links in the graph as it was before, then all links of the batch are made, each node's in one
// order: the graph is the same for any number of threads.
#pragma once

#include <span>
#include <vector>

#include "base/buffer.h"
#include "base/worker_pool.h"
#include "memory/row_distances.h"

namespace ruv {

struct DiskGraphOptions {
  // The most links of a node: more find more of the nearest, and take 4 bytes of disk each. 4 to
  // 512.
  int degree = 64;
  // How many near nodes are looked at to choose a new one's links, 1 to 10000. More make a better
  // graph, slower.
  int64_t n_looked_at = 100;
  // Between 1 and 2. Higher ones keep more of the far links: fewer steps, and longer lists.
  float alpha = 1.2F;
};
// Fails: invalid, by name.
Status check(const DiskGraphOptions& options);

class DiskGraph {
 public:
  static constexpr uint32_t kNone = UINT32_MAX;

  // Rows as `distances` has them; fewer than 2^31. Fails: out_of_memory.
  static Result<DiskGraph> build(std::span<const float* const> rows, Metric metric,
                                 const RowDistances& distances, const DiskGraphOptions& options,
                                 WorkerPool& pool);

  int64_t n_nodes() const { return std::ssize(counts_); }
  // Where searches begin, a node near to the middle, from which all can be reached; kNone: there
  // are no nodes.
  uint32_t entry() const { return entry_; }
  std::span<const uint32_t> links(uint32_t node) const { return {list_of(node), counts_[node]}; }
  // The longest list: options.degree or a few more.
  int most_links() const;

 private:
  friend class DiskGraphBuilder;
  DiskGraph(Buffer links, int room, int64_t n)
      : room_(room), links_(std::move(links)), counts_(static_cast<size_t>(n)) {}
  uint32_t* list_of(uint32_t node) const { return links_.as<uint32_t>() + int64_t{node} * room_; }
  void set(uint32_t node, std::span<const uint32_t> links);

  int room_;
  Buffer links_;
  std::vector<uint16_t> counts_;
  uint32_t entry_ = kNone;
};

// The nodes in the order in which they are written, `n_of_block` to a block: breadth first from the
// entry, with near nodes in one block, so that a search reads fewer. All nodes, each once.
std::vector<uint32_t> disk_order(const DiskGraph& graph, int64_t n_of_block);

}  // namespace ruv
