// Hnsw: a navigable small world graph in levels (Malkov and Yashunin, 2016), for finding near
// vectors.
//
// Vectors are added in batches that grow with the graph. Each of a batch finds its neighbours in
// the graph as it was before, with all threads at once; then the links of the whole batch are made,
// each node's in one order. So the graph depends on the vectors and their order alone, and not on
// the number of threads. Readers search while neighbours are looked for, and wait only while links
// change.
//
// Every node but the first has a parent, one of its near nodes, whose link to it is never dropped
// for a better one. So each node can be reached from the first, also where many vectors are equal.
#pragma once

#include <memory>
#include <span>

#include "base/result.h"
#include "base/worker_pool.h"
#include "kernels/distances.h"
#include "memory/byte_rows.h"
#include "memory/hnsw_links.h"
#include "memory/metric.h"
#include "memory/nearest_list.h"
#include "memory/vector_rows.h"

namespace ruv {

struct HnswOptions {
  Metric metric = Metric::l2;
  int64_t n_dims = 0;
  // The most links of a node on upper levels; on the lowest twice as many. More find more of the
  // nearest vectors, at a cost in memory and time that grows with it.
  int m = 16;
  // How many near nodes are looked at to choose a new one's links. More make a better graph,
  // slower.
  int64_t n_looked_at = 200;
  // Keeps a copy of the vectors in 8 bits, a quarter more memory, with which searches look for the
  // nearest ones before they compare those in float32. Not with manhattan.
  bool has_codes = false;
  uint64_t seed = 0;  // of the levels
};
// Fails: invalid, by name.
Status check(const HnswOptions& options);

// What one search needs, kept between searches of one thread.
class HnswSearch {
 public:
  NearestList nearest;

 private:
  friend class Hnsw;
  // Starts a search among n nodes.
  void begin(int64_t n_nodes);
  bool visit(uint32_t node) {
    if (tags_[node] == tag_) return false;
    tags_[node] = tag_;
    return true;
  }

  std::vector<uint16_t> tags_;  // of each node, the last search that saw it
  uint16_t tag_ = 0;
  std::vector<uint32_t> nodes_;
  std::vector<const float*> rows_;
  std::vector<float> distances_, query_;
  // With codes.
  std::vector<int8_t> codes_;
  ByteScale scale_;
  std::vector<const int8_t*> code_rows_;
  std::vector<int32_t> products_;
  std::vector<Neighbour> measured_;
};

class Hnsw {
 public:
  // Requires: check(options) is ok.
  explicit Hnsw(const HnswOptions& options);

  const HnswOptions& options() const { return options_; }
  int64_t size() const;

  // Adds vectors of n_dims numbers, one after the other; the first gets the number size(). One
  // thread at a time. Fails: invalid (a number that is not finite; with cosine, a vector of length
  // 0), out_of_memory; nothing is added then.
  Status add(std::span<const float> vectors, WorkerPool& pool);

  // The k nearest vectors of a query of n_dims finite numbers, nearest first; fewer where there are
  // not as many. `n_looked_at` at least k are compared: more find more of the nearest ones. Any
  // thread.
  void search(const float* query, int64_t k, int64_t n_looked_at, HnswSearch& memory,
              std::vector<Neighbour>& found) const;

  // The number's vector, as it is compared: at length 1 with cosine. Requires: number < size().
  std::span<const float> vector(uint32_t number) const;
  int64_t n_bytes() const;

 private:
  static constexpr uint32_t kNobody = UINT32_MAX;
  // A link that another node is to have.
  struct Wanted {
    uint32_t node;
    int level;
    Neighbour to;
  };
  // The links that a new node chose, by level, and what it chose from on the lowest.
  struct Chosen {
    uint32_t node;
    std::vector<std::vector<Neighbour>> levels;
    std::vector<Neighbour> near;
  };

  int level_of_new(uint32_t node) const;
  Status take(std::span<const float> vectors, int64_t first);
  void add_first();
  void add_batch(uint32_t first, uint32_t n, WorkerPool& pool, std::span<HnswSearch> memories);
  Chosen choose_links(uint32_t node, HnswSearch& memory) const;
  void link(std::span<const Chosen> batch, WorkerPool& pool);
  // Finds a parent for each, which gets a link to it.
  void adopt(std::span<const Chosen> batch, std::vector<Wanted>& wanted);
  uint32_t with_room(uint32_t node) const;
  std::vector<uint32_t> links_with(const Wanted* first, const Wanted* last) const;
  // Of near nodes, nearest first, at most `most`: children of `parent`, then those that lie in
  // different directions, then the nearest of the others.
  std::vector<Neighbour> diverse(std::span<const Neighbour> near, size_t most,
                                 uint32_t parent = kNobody) const;

  // Whether no row is nearer to `row` than `distance`.
  bool is_apart(const float* row, std::span<const float* const> others, float distance) const;

  // The nearest node of levels above `level`, from the top.
  Neighbour descend(const float* query, int level, HnswSearch& memory) const;
  void search_level(const float* query, const Neighbour& from, int level, int64_t n_looked_at,
                    HnswSearch& memory) const;
  // Distances of memory.nodes_ from the query, to memory.distances_; with codes where the search
  // has some.
  void measure(const float* query, HnswSearch& memory) const;
  void measure_codes(HnswSearch& memory) const;
  // Measures the nearest found by codes in float32, at least k of them.
  void measure_again(const float* query, size_t k, HnswSearch& memory) const;
  void measure(const float* query, std::span<const float* const> rows, float* out) const;
  float distance(uint32_t a, uint32_t b) const;

  HnswOptions options_;
  DistanceKernel<float, float> kernel_;
  VectorRows rows_;
  ByteRows codes_;
  HnswLinks links_;
  uint32_t entry_ = 0;  // a node of the top level
  std::vector<uint32_t> parents_;
  std::vector<uint16_t> n_children_;

  // Held shared by searches, alone while links change.
  struct Gate;
  std::shared_ptr<Gate> gate_;
};

}  // namespace ruv
