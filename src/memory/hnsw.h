// Hnsw: a navigable small world graph in levels (Malkov and Yashunin, 2016), for finding near
// vectors.
//
// Vectors are added in batches that grow with the graph. Each of a batch finds its neighbours in
// the graph as it was before, with all threads at once; then the links of the whole batch are made,
// each node's in one order. So the graph depends on the calls that changed it and their order
// alone, and not on the number of threads. Readers search while neighbours are looked for, and wait
// only while links change.
//
// Every node but one, the root, has a parent, one of its near nodes, whose link to it is never
// dropped for a better one. So each node can be reached from the root, also where many vectors are
// equal.
//
// A removed node is never found again, from the return of remove() on. It still leads searches to
// others until repair() links its neighbours with each other; then its number is given to a vector
// that is added later.
#pragma once

#include <memory>
#include <span>

#include "base/reader_gate.h"
#include "base/result.h"
#include "base/worker_pool.h"
#include "kernels/distances.h"
#include "memory/code_rows.h"
#include "memory/hnsw_links.h"
#include "memory/hnsw_search.h"
#include "memory/metric.h"
#include "memory/piece_file.h"
#include "memory/row_checks.h"
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
  // What searches look at to find the nearest vectors, before they compare those in float32. Takes
  // memory besides the vectors: of each of their numbers 2 bytes (f16), 1 (int8), 1/2 (int4), 1/4
  // (product) or 1/8 (binary). The shorter, the more nodes are looked at: half more, twice or four
  // times as many with int4, product and binary.
  VectorCodes codes = VectorCodes::none;
  uint64_t seed = 0;  // of the levels
};
// Fails: invalid, by name.
Status check(const HnswOptions& options);
// Whether a query has n_dims numbers of at most kMostNumber. Fails: invalid.
Status check_query(const HnswOptions& options, std::span<const float> query);

class Hnsw {
 public:
  // `rows`: where vectors are kept, of n_dims numbers; null: in memory. Requires: check(options) is
  // ok.
  explicit Hnsw(const HnswOptions& options, std::unique_ptr<VectorRows> rows = nullptr);

  const HnswOptions& options() const { return options_; }
  // The vectors that can be found.
  int64_t size() const;
  // All nodes are below this.
  int64_t n_nodes() const;
  // Removed nodes that repair() has not freed yet.
  int64_t n_removed() const;

  // One thread at a time calls what follows, up to repair().

  // Adds vectors of n_dims numbers and appends their nodes to `nodes`. Fails: as prepare(); nothing
  // is added then.
  Status add(std::span<const float> vectors, WorkerPool& pool, std::vector<uint32_t>& nodes);
  Status add(std::span<const float> vectors, WorkerPool& pool);
  // The first half of add(): writes the vectors to rows of nodes that nothing finds yet, freed ones
  // first, in ascending order, and returns those. Fails: invalid (a number that is not finite or
  // above kMostNumber; with cosine, a vector of length 0), out_of_memory, as the rows.
  Result<std::vector<uint32_t>> prepare(std::span<const float> vectors);
  // The same for n rows that are written already, as a file has them.
  Result<std::vector<uint32_t>> prepare_written(int64_t n);
  // The second half. Requires: `nodes` are what was prepared last, and has not been linked.
  void link_prepared(std::span<const uint32_t> nodes, WorkerPool& pool);
  // The nodes are not found from the return on. Returns how many of them there were.
  int64_t remove(std::span<const uint32_t> nodes);
  // Frees the removed nodes. Takes a pass over all links: to be called for many at once, when a
  // tenth of the nodes are removed, say.
  void repair(WorkerPool& pool);

  // The k nearest vectors of a query of n_dims finite numbers, nearest first; fewer where there are
  // not as many. Any thread.
  void search(const float* query, const SearchOptions& options, HnswSearch& memory,
              std::vector<Neighbour>& found) const;

  // Writes all but the rows.
  Status save(PieceWriter& file) const;
  // Reads what save() wrote into a graph that is empty; rows have what they had. `has_codes`: the
  // file has codes, else those that need not be learnt are made of the rows. Fails: corrupt,
  // out_of_memory, as the rows; the graph is not to be used then.
  Status load(PieceReader& file, bool has_codes, WorkerPool& pool);
  // From now on searches compare rows with their hashes when they first read them, and
  // HnswSearch::damaged() names one that differs. Requires: all are known when add(), repair() or
  // what they consist of is called.
  void check_rows_with(const RowChecks* checks) { checks_ = checks; }

  bool has(uint32_t node) const;
  // Those that have a row, and of them those that can be found; ascending. For a thread that may
  // change the graph.
  std::vector<uint32_t> used_nodes() const;
  std::vector<uint32_t> live_nodes() const;
  // Whether the node's row may be used for another vector.
  bool is_free(uint32_t node) const;
  // Other numbers in place of a vector's, where its bytes were lost; links stay. As add() but for
  // threads that search: there must be none.
  Status replace_row(uint32_t node, std::span<const float> vector);
  // The node's vector, as it is compared: at length 1 with cosine. Requires: has(node), and that it
  // is not removed while the result is read.
  std::span<const float> vector(uint32_t node) const;
  int64_t n_bytes() const;

 private:
  static constexpr uint32_t kNobody = UINT32_MAX;
  enum class State : uint8_t { live, removed, free };
  // A link that another node is to have.
  struct Wanted {
    uint32_t node;
    int level;
    Neighbour to;
  };
  // A list of links to be set.
  struct NewList {
    uint32_t node;
    int level;
    std::vector<uint32_t> links;
  };
  // The links that a new node chose, by level, and what it chose from on the lowest.
  struct Chosen {
    uint32_t node;
    std::vector<std::vector<Neighbour>> levels;
    std::vector<Neighbour> near;
  };
  // What repair() works on.
  class Repair;

  // Adding.
  int level_of_new(uint32_t node) const;
  Result<std::vector<float>> checked(std::span<const float> vectors) const;
  // The nodes of n new vectors, for which there is room then.
  Result<std::vector<uint32_t>> next_nodes(int64_t n);
  void add_first(uint32_t node, HnswSearch& memory);
  void set_code(uint32_t node, HnswSearch& memory);
  // Learns what codes need once there are vectors enough.
  void learn_codes(WorkerPool& pool);
  void add_batch(std::span<const uint32_t> nodes, WorkerPool& pool, std::span<HnswSearch> memories);
  Chosen choose_links(uint32_t node, HnswSearch& memory) const;
  void link(std::span<const Chosen> batch, WorkerPool& pool);
  void enter(const Chosen& chosen);
  // Finds a parent for each, which gets a link to it.
  void adopt(std::span<const Chosen> batch, std::vector<Wanted>& wanted);
  uint32_t with_room(uint32_t node) const;
  int most_children() const { return links_.most(0) / 2; }
  // The lists that have wanted links in them as well.
  std::vector<NewList> lists_with(std::vector<Wanted>& wanted, WorkerPool& pool) const;
  std::vector<uint32_t> links_with(std::span<const Wanted> wanted) const;
  // Takes at most `most` of near nodes, which are ordered by distance: children of `parent`, then
  // those that lie in different directions, then the nearest of the others.
  std::vector<Neighbour> diverse(std::span<const Neighbour> near, size_t most,
                                 uint32_t parent = kNobody) const;
  std::vector<Neighbour> live_of(const NearestList& nearest) const;

  // Loading.
  Status load_nodes(PieceReader& file, int64_t n);
  Status load_lists(PieceReader& file, uint32_t node);
  Status check_links(WorkerPool& pool) const;
  // Whether a link of this level may lead to the node.
  bool may_link(uint32_t node, int level) const {
    return node < states_.size() && states_[node] != State::free && links_.level_of(node) >= level;
  }
  // What is wrong with a node's links, or null.
  const char* fault_of(uint32_t node) const;
  Status check_parents(PieceReader& file);
  Status load_codes(PieceReader& file, bool has_codes, WorkerPool& pool);
  void code_all(WorkerPool& pool);

  // Searching.
  void begin(const float* query, HnswSearch& memory) const;
  bool has_codes() const { return codes_ != nullptr && codes_->is_ready(); }
  // The nearest node of levels above `level`, from the top.
  Neighbour descend(const float* query, int level, HnswSearch& memory) const;
  // Where a search of the lowest level begins.
  Neighbour near_to(const float* query, int64_t n_looked_at, HnswSearch& memory) const;
  void search_level(const float* query, const Neighbour& from, int level, int64_t n_looked_at,
                    HnswSearch& memory) const;
  // Nodes that may be found, nearest first, to memory.found_.
  void search_all(const SearchOptions& options, HnswSearch& memory) const;
  void search_among(const SearchOptions& options, HnswSearch& memory) const;
  void compare_each(const SearchOptions& options, HnswSearch& memory) const;
  bool may_be_found(uint32_t node, const NodeSet* among) const {
    return states_[node] == State::live && (among == nullptr || among->has(node));
  }
  // Measures the nearest found by codes in float32, at least k of them.
  void measure_again(int64_t k, HnswSearch& memory) const;

  // Distances.
  void measure(const float* query, std::span<const float* const> rows, float* out) const;
  // Distances of memory.nodes_ from the query, to memory.distances_; with codes where the search
  // has some.
  void measure(const float* query, HnswSearch& memory) const;
  float distance(uint32_t a, uint32_t b) const;
  // These nodes with their distances from `node`, nearest first.
  std::vector<Neighbour> measured(uint32_t node, std::span<const uint32_t> others) const;
  // Whether no row is nearer to `row` than `distance`.
  bool is_apart(const float* row, std::span<const float* const> others, float distance) const;

  HnswOptions options_;
  DistanceKernel<float, float> kernel_;
  std::unique_ptr<VectorRows> rows_;
  std::unique_ptr<CodeRows> codes_;  // null: none
  HnswLinks links_;
  uint32_t entry_ = kNobody;  // a node of the top level; kNobody: there is none
  std::vector<State> states_;
  std::vector<uint32_t> free_;  // in descending order
  int64_t n_live_ = 0, n_removed_ = 0;
  std::vector<uint32_t> parents_;
  std::vector<uint16_t> n_children_;
  const RowChecks* checks_ = nullptr;
  ReaderGate gate_;  // searches share it; links and states change alone
};

}  // namespace ruv
