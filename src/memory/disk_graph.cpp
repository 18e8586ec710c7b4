// Building: each new node walks to its place; what it came by is pruned to its links.
//
// What costs time is comparing rows: a node walks past some thousand, and its links make as many
// lists longer, each of which is pruned once for many new links, at up to half the square of its
// length. All distances of a list are computed in one call, which loads several rows at once.
#include "memory/disk_graph.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/check.h"
#include "base/rng.h"
#include "memory/nearest_list.h"
#include "memory/seen_nodes.h"

namespace ruv {
namespace {

// A batch is this share of the graph at most: nodes of one do not see each other.
constexpr int64_t kShareOfDiskBatch = 32;
constexpr int64_t kMostInDiskBatch = 4096;
constexpr int64_t kPrunedAtOnce = 64;
// The middle is that of 16384 rows at even distances.
constexpr int64_t kRowsOfMiddle = 16384;
constexpr uint64_t kOrderSeed = 1;

}  // namespace

Status check(const DiskGraphOptions& options) {
  if (options.degree < 4 || options.degree > 512) {
    return fail(Code::invalid, "degree is {}, not from 4 to 512", options.degree);
  }
  if (options.n_looked_at < 1 || options.n_looked_at > 10'000) {
    return fail(Code::invalid, "n_looked_at is {}, not from 1 to 10000", options.n_looked_at);
  }
  if (options.alpha >= 1 && options.alpha <= 2) return {};
  return fail(Code::invalid, "alpha is {}, not from 1 to 2", options.alpha);
}

int DiskGraph::most_links() const {
  return counts_.empty() ? 0 : *std::ranges::max_element(counts_);
}

void DiskGraph::set(uint32_t node, std::span<const uint32_t> links) {
  std::ranges::copy(links, list_of(node));
  counts_[node] = static_cast<uint16_t>(links.size());
}

class DiskGraphBuilder {
 public:
  // Squares of distances, as l2 and cosine have them, are compared with the square of alpha.
  DiskGraphBuilder(DiskGraph& graph, std::span<const float* const> rows, Metric metric,
                   const RowDistances& distances, const DiskGraphOptions& options, WorkerPool& pool)
      : graph_(graph),
        rows_(rows),
        distances_(distances),
        degree_(static_cast<size_t>(options.degree)),
        n_looked_at_(static_cast<size_t>(options.n_looked_at)),
        factor_(metric == Metric::manhattan ? options.alpha : options.alpha * options.alpha),
        pool_(pool),
        walks_(static_cast<size_t>(pool.n_threads())) {}

  void build();

 private:
  // The memory of a walk, for one thread.
  struct Walk {
    NearestList nearest;
    SeenNodes seen;
    std::vector<uint32_t> nodes;
    std::vector<const float*> rows;
    std::vector<float> distances;
    std::vector<Neighbour> followed;
  };
  // A link that a node is to have.
  struct Wanted {
    uint32_t node;
    uint32_t to;
  };

  uint32_t middle() const;
  void walk(const float* query, Walk& walk) const;
  void look_at(const float* query, Walk& walk) const;
  std::vector<uint32_t> pruned(std::span<const Neighbour> near) const;
  bool is_covered(const Neighbour& one, std::span<const float* const> chosen) const;
  std::vector<uint32_t> pruned_of(uint32_t node, std::span<const uint32_t> links) const;
  void add_batch(std::span<const uint32_t> nodes);
  void add_links(std::span<const Wanted> wanted);
  void shorten_all();
  void reach_all();
  // Marks what can be reached from a node that is marked.
  void mark_from(uint32_t node, std::vector<uint8_t>& is_reached) const;

  DiskGraph& graph_;
  std::span<const float* const> rows_;
  const RowDistances& distances_;
  size_t degree_, n_looked_at_;
  float factor_;
  WorkerPool& pool_;
  std::vector<Walk> walks_;  // by thread
};

// The row that is nearest to the mean, of the rows that are looked at for it.
uint32_t DiskGraphBuilder::middle() const {
  const int64_t n = std::ssize(rows_);
  const int64_t n_looked = std::min(n, kRowsOfMiddle);
  std::vector<double> sums(static_cast<size_t>(distances_.step()));
  std::vector<uint32_t> nodes;
  std::vector<const float*> rows;
  for (int64_t i = 0; i < n_looked; ++i) {
    nodes.push_back(static_cast<uint32_t>(i * n / n_looked));
    rows.push_back(rows_[nodes.back()]);
    for (size_t d = 0; d < sums.size(); ++d) sums[d] += double{rows.back()[d]};
  }
  std::vector<float> mean, distances(rows.size());
  for (const double sum : sums) mean.push_back(static_cast<float>(sum / double(n_looked)));
  distances_.measure(mean.data(), rows, distances.data());
  return nodes[static_cast<size_t>(std::ranges::min_element(distances) - distances.begin())];
}

// The nodes of walk.nodes, which enter the list of the nearest where they are near enough.
void DiskGraphBuilder::look_at(const float* query, Walk& walk) const {
  walk.rows.clear();
  for (const uint32_t node : walk.nodes) walk.rows.push_back(rows_[node]);
  walk.distances.resize(walk.nodes.size());
  distances_.measure(query, walk.rows, walk.distances.data());
  for (size_t i = 0; i < walk.nodes.size(); ++i) {
    walk.nearest.add({walk.distances[i], walk.nodes[i]});
  }
}

// Ends with all nodes whose links were followed, nearest first, in walk.followed.
void DiskGraphBuilder::walk(const float* query, Walk& walk) const {
  walk.seen.clear();
  walk.followed.clear();
  walk.nearest.begin(n_looked_at_);
  walk.nodes.assign(1, graph_.entry());
  walk.seen.insert(graph_.entry());
  look_at(query, walk);
  while (const Neighbour* const at = walk.nearest.follow()) {
    walk.followed.push_back(*at);
    walk.nodes.clear();
    for (const uint32_t to : graph_.links(at->node)) {
      if (walk.seen.insert(to)) walk.nodes.push_back(to);
    }
    look_at(query, walk);
  }
  std::sort(walk.followed.begin(), walk.followed.end());
}

// Whether a chosen link leads there: it is nearer to the place than the node is, by the factor.
bool DiskGraphBuilder::is_covered(const Neighbour& one,
                                  std::span<const float* const> chosen) const {
  constexpr size_t kAtOnce = 8;
  float distances[kAtOnce];
  for (size_t at = 0; at < chosen.size(); at += kAtOnce) {
    const size_t n = std::min(kAtOnce, chosen.size() - at);
    distances_.measure(rows_[one.node], chosen.subspan(at, n), distances);
    for (size_t i = 0; i < n; ++i) {
      if (factor_ * distances[i] <= one.distance) return true;
    }
  }
  return false;
}

// The nearest of each direction, at most the degree (the paper's RobustPrune). Requires: `near` is
// in order.
std::vector<uint32_t> DiskGraphBuilder::pruned(std::span<const Neighbour> near) const {
  std::vector<uint32_t> chosen;
  std::vector<const float*> rows;
  for (const Neighbour& one : near) {
    if (chosen.size() == degree_) break;
    if (is_covered(one, rows)) continue;
    chosen.push_back(one.node);
    rows.push_back(rows_[one.node]);
  }
  return chosen;
}

std::vector<uint32_t> DiskGraphBuilder::pruned_of(uint32_t node,
                                                  std::span<const uint32_t> links) const {
  std::vector<const float*> rows;
  for (const uint32_t to : links) rows.push_back(rows_[to]);
  std::vector<float> distances(links.size());
  distances_.measure(rows_[node], rows, distances.data());
  std::vector<Neighbour> near;
  for (size_t i = 0; i < links.size(); ++i) near.push_back({distances[i], links[i]});
  std::sort(near.begin(), near.end());
  return pruned(near);
}

// Lists may be longer than the degree until the end, so that one is pruned once for many links.
// Requires: all links are wanted by the same node.
void DiskGraphBuilder::add_links(std::span<const Wanted> wanted) {
  const uint32_t node = wanted.front().node;
  const auto before = graph_.links(node);
  std::vector<uint32_t> links(before.begin(), before.end());
  for (const Wanted& one : wanted) {
    if (std::ranges::find(links, one.to) == links.end()) links.push_back(one.to);
  }
  const bool fits = std::ssize(links) <= graph_.room_;
  graph_.set(node, fits ? links : pruned_of(node, links));
}

// Walks of a batch only read the graph; then each list that gets longer is the work of one thread.
// Pairs are ordered by the node that they are for and, of one node, as the batch is, so that lists
// do not depend on which thread was first.
void DiskGraphBuilder::add_batch(std::span<const uint32_t> nodes) {
  std::vector<std::vector<uint32_t>> lists(nodes.size());
  pool_.run_items(std::ssize(nodes), [&](int thread, int64_t item) {
    const auto i = static_cast<size_t>(item);
    Walk& memory = walks_[static_cast<size_t>(thread)];
    walk(rows_[nodes[i]], memory);
    lists[i] = pruned(memory.followed);
  });
  std::vector<Wanted> wanted;
  for (size_t i = 0; i < nodes.size(); ++i) {
    graph_.set(nodes[i], lists[i]);
    for (const uint32_t to : lists[i]) wanted.push_back({to, nodes[i]});
  }
  std::ranges::stable_sort(wanted, {}, &Wanted::node);
  std::vector<size_t> starts;
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (i == 0 || wanted[i].node != wanted[i - 1].node) starts.push_back(i);
  }
  pool_.run_items(std::ssize(starts), [&](int, int64_t item) {
    const auto i = static_cast<size_t>(item);
    const size_t end = i + 1 < starts.size() ? starts[i + 1] : wanted.size();
    add_links(std::span(wanted).subspan(starts[i], end - starts[i]));
  });
}

// Lists that are longer than the degree, which building allows.
void DiskGraphBuilder::shorten_all() {
  const int64_t n = graph_.n_nodes();
  pool_.run_items((n + kPrunedAtOnce - 1) / kPrunedAtOnce, [&](int, int64_t item) {
    for (int64_t at = item * kPrunedAtOnce; at < std::min(n, (item + 1) * kPrunedAtOnce); ++at) {
      const auto node = static_cast<uint32_t>(at);
      const auto links = graph_.links(node);
      if (links.size() > degree_) graph_.set(node, pruned_of(node, links));
    }
  });
}

void DiskGraphBuilder::mark_from(uint32_t node, std::vector<uint8_t>& is_reached) const {
  std::vector<uint32_t> open = {node};
  is_reached[node] = 1;
  while (!open.empty()) {
    const uint32_t at = open.back();
    open.pop_back();
    for (const uint32_t to : graph_.links(at)) {
      if (is_reached[to] != 0) continue;
      is_reached[to] = 1;
      open.push_back(to);
    }
  }
}

// Pruning may leave a node without a link to it, as of equal vectors. It gets one from the nearest
// node whose list has room, or else from the one that was helped before, which has: no walk came to
// that one yet.
void DiskGraphBuilder::reach_all() {
  std::vector<uint8_t> is_reached(rows_.size());
  mark_from(graph_.entry(), is_reached);
  uint32_t before = DiskGraph::kNone;
  for (uint32_t node = 0; node < is_reached.size(); ++node) {
    if (is_reached[node] != 0) continue;
    walk(rows_[node], walks_[0]);
    const auto near = std::ranges::find_if(walks_[0].followed, [&](const Neighbour& one) {
      return std::ssize(graph_.links(one.node)) < graph_.room_;
    });
    const uint32_t from = near != walks_[0].followed.end() ? near->node : before;
    CHECK(from != DiskGraph::kNone && std::ssize(graph_.links(from)) < graph_.room_);
    const auto links = graph_.links(from);
    std::vector<uint32_t> longer(links.begin(), links.end());
    longer.push_back(node);
    graph_.set(from, longer);
    before = node;
    mark_from(node, is_reached);
  }
}

// The entry comes first, and is never replaced: all later walks begin there.
void DiskGraphBuilder::build() {
  const int64_t n = std::ssize(rows_);
  std::vector<uint32_t> order(static_cast<size_t>(n));
  std::iota(order.begin(), order.end(), 0U);
  Rng rng(kOrderSeed);
  for (size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[rng.below(i)]);
  graph_.entry_ = middle();
  std::swap(*std::ranges::find(order, graph_.entry_), order[0]);
  for (int64_t at = 1; at < n;) {
    const int64_t most = std::clamp<int64_t>(at / kShareOfDiskBatch, 1, kMostInDiskBatch);
    const int64_t size = std::min(most, n - at);
    add_batch(std::span(order).subspan(static_cast<size_t>(at), static_cast<size_t>(size)));
    at += size;
  }
  shorten_all();
  reach_all();
}

Result<DiskGraph> DiskGraph::build(std::span<const float* const> rows, Metric metric,
                                   const RowDistances& distances, const DiskGraphOptions& options,
                                   WorkerPool& pool) {
  TRY(check(options));
  const int64_t n = std::ssize(rows);
  // A quarter more than the degree, so that most lists that grow need not be pruned at once.
  const int room = options.degree + options.degree / 4 + 1;
  Buffer links = TRY(Buffer::allocate(n * room * static_cast<int64_t>(sizeof(uint32_t))));
  DiskGraph graph(std::move(links), room, n);
  if (n > 0) DiskGraphBuilder(graph, rows, metric, distances, options, pool).build();
  return graph;
}

// A block begins with the next node of the walk from the entry; those near to it
// that are not in one yet share the block.
std::vector<uint32_t> disk_order(const DiskGraph& graph, int64_t n_of_block) {
  std::vector<uint32_t> order;
  if (graph.n_nodes() == 0) return order;
  const auto n = static_cast<size_t>(graph.n_nodes());
  std::vector<uint8_t> is_placed(n), is_queued(n);
  std::vector<uint32_t> queue = {graph.entry()};
  is_queued[graph.entry()] = 1;
  const auto place = [&](uint32_t node) {
    if (is_placed[node] != 0) return;
    is_placed[node] = 1;
    order.push_back(node);
  };
  for (size_t at = 0; at < queue.size(); ++at) {
    const uint32_t node = queue[at];
    const bool begins = is_placed[node] == 0;
    place(node);
    for (const uint32_t to : graph.links(node)) {
      const bool is_full = std::ssize(order) % n_of_block == 0;
      if (begins && !is_full) place(to);
      if (is_queued[to] != 0) continue;
      is_queued[to] = 1;
      queue.push_back(to);
    }
  }
  return order;
}

}  // namespace ruv
