// Adding to a graph and removing from it. The rows of new nodes are written first, which may fail;
// linking them cannot, so that a log can be written between the two.
#include "memory/hnsw.h"

#include <cmath>
#include <unordered_set>

#include "base/check.h"

namespace ruv {
namespace {

constexpr int64_t kMostNodes = int64_t{1} << 31;
// A batch is this share of the graph at most: nodes of one do not see each other.
constexpr int64_t kShareOfBatch = 32;
constexpr int64_t kMostInBatch = 4096;

// The finaliser of SplitMix64: neighbouring numbers give unrelated ones.
uint64_t mixed(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ULL;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBULL;
  return x ^ (x >> 31);
}

DistanceKernel<float, float> kernel_of(Metric metric) {
  const DistanceKernels& kernels = distance_kernels();
  switch (metric) {
    case Metric::l2:
      return kernels.l2;
    case Metric::manhattan:
      return kernels.manhattan;
    case Metric::cosine:
    case Metric::dot:
      break;
  }
  return kernels.dot;
}

}  // namespace

Status check(const HnswOptions& options) {
  if (options.n_dims < 1 || options.n_dims > 65536) {
    return fail(Code::invalid, "vectors of {} numbers, not 1 to 65536", options.n_dims);
  }
  if (options.m < 2 || options.m > 256) {
    return fail(Code::invalid, "m is {}, not from 2 to 256", options.m);
  }
  if (options.n_looked_at < 1) {
    return fail(Code::invalid, "n_looked_at is {}, less than 1", options.n_looked_at);
  }
  return check(options.codes, options.metric, options.n_dims);
}

Status check_query(const HnswOptions& options, std::span<const float> query) {
  if (std::ssize(query) != options.n_dims) {
    return fail(Code::invalid, "a query of {} numbers, not {}", query.size(), options.n_dims);
  }
  for (const float x : query) {
    if (std::fabs(x) <= kMostNumber) continue;
    return fail(Code::invalid, "a number of the query is {}, not from -1e15 to 1e15", x);
  }
  return {};
}

Hnsw::Hnsw(const HnswOptions& options, std::unique_ptr<VectorRows> rows)
    : options_(options),
      kernel_(kernel_of(options.metric)),
      rows_(rows != nullptr ? std::move(rows) : std::make_unique<MemoryRows>(options.n_dims)),
      codes_(CodeRows::create(options.codes, options.metric, options.n_dims)),
      links_(options.m) {}

int64_t Hnsw::size() const {
  const auto held = gate_.share();
  return n_live_;
}

int64_t Hnsw::n_nodes() const {
  const auto held = gate_.share();
  return links_.n_nodes();
}

int64_t Hnsw::n_removed() const {
  const auto held = gate_.share();
  return n_removed_;
}

bool Hnsw::has(uint32_t node) const {
  const auto held = gate_.share();
  return node < states_.size() && states_[node] == State::live;
}

bool Hnsw::is_free(uint32_t node) const {
  const auto held = gate_.share();
  return node >= states_.size() || states_[node] == State::free;
}

Status Hnsw::replace_row(uint32_t node, std::span<const float> vector) {
  TRY(rows_->set(node, vector.data()));
  CodedQuery memory;
  if (has_codes()) codes_->set(node, rows_->row(node), memory);
  return {};
}

std::span<const float> Hnsw::vector(uint32_t node) const {
  const auto held = gate_.share();
  return {rows_->row(node), static_cast<size_t>(options_.n_dims)};
}

int64_t Hnsw::n_bytes() const {
  const auto held = gate_.share();
  return rows_->n_bytes() + links_.n_bytes() + (codes_ != nullptr ? codes_->n_bytes() : 0);
}

// Exponentially distributed, and a function of the node's number alone.
int Hnsw::level_of_new(uint32_t node) const {
  const uint64_t bits = mixed(options_.seed + 0x9E3779B97F4A7C15ULL * (uint64_t{node} + 1));
  const double u = (static_cast<double>(bits >> 11) + 1) * 0x1p-53;  // above 0
  const auto level = static_cast<int>(-std::log(u) / std::log(static_cast<double>(options_.m)));
  return std::min(level, HnswLinks::kMostLevels - 1);
}

// The vectors as they are compared.
Result<std::vector<float>> Hnsw::checked(std::span<const float> vectors) const {
  const int64_t n_dims = options_.n_dims;
  if (std::ssize(vectors) % n_dims != 0) {
    return fail(Code::invalid, "{} numbers are not whole vectors of {}", vectors.size(), n_dims);
  }
  for (size_t i = 0; i < vectors.size(); ++i) {
    if (std::fabs(vectors[i]) <= kMostNumber) continue;
    return fail(Code::invalid, "vector {}: a number is {}, not from -1e15 to 1e15",
                static_cast<int64_t>(i) / n_dims, vectors[i]);
  }
  std::vector<float> rows(vectors.begin(), vectors.end());
  if (options_.metric != Metric::cosine) return rows;
  for (int64_t at = 0; at < std::ssize(rows); at += n_dims) {
    if (normalise({rows.data() + at, static_cast<size_t>(n_dims)})) continue;
    return fail(Code::invalid, "vector {}: it has no length, and so no direction", at / n_dims);
  }
  return rows;
}

// Room is made while no search runs: the tables of blocks grow, not the blocks.
Result<std::vector<uint32_t>> Hnsw::next_nodes(int64_t n) {
  const int64_t n_reused = std::min<int64_t>(n, std::ssize(free_));
  const int64_t end = links_.n_nodes() + n - n_reused;
  if (end > kMostNodes) return fail(Code::invalid, "more than {} vectors", kMostNodes);
  std::vector<uint32_t> nodes(free_.rbegin(), free_.rbegin() + static_cast<ptrdiff_t>(n_reused));
  int64_t n_upper = 0;
  for (int64_t node = links_.n_nodes(); node < end; ++node) {
    nodes.push_back(static_cast<uint32_t>(node));
    n_upper += level_of_new(nodes.back());
  }
  const auto held = gate_.alone();
  TRY(rows_->grow(end));
  TRY(links_.grow(end, n_upper));
  if (codes_ != nullptr) TRY(codes_->grow(end));
  return nodes;
}

// Nothing is linked to these rows, so that no search reads what is written here.
Result<std::vector<uint32_t>> Hnsw::prepare(std::span<const float> vectors) {
  const std::vector<float> rows = TRY(checked(vectors));
  std::vector<uint32_t> nodes = TRY(next_nodes(std::ssize(vectors) / options_.n_dims));
  const float* row = rows.data();
  for (const uint32_t node : nodes) {
    TRY(rows_->set(node, row));
    row += options_.n_dims;
  }
  return nodes;
}

Result<std::vector<uint32_t>> Hnsw::prepare_written(int64_t n) { return next_nodes(n); }

Status Hnsw::add(std::span<const float> vectors, WorkerPool& pool) {
  std::vector<uint32_t> nodes;
  return add(vectors, pool, nodes);
}

Status Hnsw::add(std::span<const float> vectors, WorkerPool& pool, std::vector<uint32_t>& nodes) {
  const std::vector<uint32_t> added = TRY(prepare(vectors));
  link_prepared(added, pool);
  nodes.insert(nodes.end(), added.begin(), added.end());
  return {};
}

// Batches grow with the graph: the first nodes are added one by one, as there is little to be
// linked to, and a thousand at once where they are few among the others.
void Hnsw::link_prepared(std::span<const uint32_t> nodes, WorkerPool& pool) {
  std::span<const uint32_t> left = nodes;
  std::vector<HnswSearch> memories(static_cast<size_t>(pool.n_threads()));
  if (!left.empty() && entry_ == kNobody) {
    add_first(left[0], memories[0]);
    left = left.subspan(1);
  }
  while (!left.empty()) {
    const int64_t share = (n_live_ + n_removed_) / kShareOfBatch;
    const int64_t n =
        std::min<int64_t>(std::clamp<int64_t>(share, 1, kMostInBatch), std::ssize(left));
    add_batch(left.first(static_cast<size_t>(n)), pool, memories);
    left = left.subspan(static_cast<size_t>(n));
  }
  learn_codes(pool);
}

// No search reads the code of a node that is not linked yet.
void Hnsw::set_code(uint32_t node, HnswSearch& memory) {
  if (has_codes()) codes_->set(node, rows_->row(node), memory.coded_);
}

// The root of all parents, and the entry until a node of a higher level comes.
void Hnsw::add_first(uint32_t node, HnswSearch& memory) {
  set_code(node, memory);
  Chosen first{node, {}, {}};
  first.levels.resize(static_cast<size_t>(level_of_new(node) + 1));
  const auto held = gate_.alone();
  enter(first);
  parents_[node] = kNobody;
  entry_ = node;
}

// Looking for neighbours changes nothing, so that searches run beside it.
void Hnsw::add_batch(std::span<const uint32_t> nodes, WorkerPool& pool,
                     std::span<HnswSearch> memories) {
  std::vector<Chosen> batch(nodes.size());
  pool.run_items(std::ssize(nodes), [&](int thread, int64_t i) {
    const auto at = static_cast<size_t>(i);
    HnswSearch& memory = memories[static_cast<size_t>(thread)];
    set_code(nodes[at], memory);
    batch[at] = choose_links(nodes[at], memory);
  });
  link(batch, pool);
}

// Removed nodes are linked to only where there are no others.
std::vector<Neighbour> Hnsw::live_of(const NearestList& nearest) const {
  std::vector<Neighbour> live, all;
  for (size_t i = 0; i < nearest.size(); ++i) {
    all.push_back(nearest.at(i));
    if (states_[all.back().node] == State::live) live.push_back(all.back());
  }
  return live.empty() ? all : live;
}

// On levels that the graph does not have yet there are no nodes to link to.
Hnsw::Chosen Hnsw::choose_links(uint32_t node, HnswSearch& memory) const {
  Chosen chosen{node, {}, {}};
  chosen.levels.resize(static_cast<size_t>(level_of_new(node) + 1));
  const float* const row = rows_->row(node);
  const int top = links_.level_of(entry_);
  const int from_level = std::min(level_of_new(node), top);
  memory.uses_codes_ = false;
  Neighbour from = descend(row, from_level, memory);
  for (int level = from_level; level >= 0; --level) {
    search_level(row, from, level, options_.n_looked_at, memory);
    from = memory.nearest.at(0);
    chosen.near = live_of(memory.nearest);
    chosen.levels[static_cast<size_t>(level)] =
        diverse(chosen.near, static_cast<size_t>(options_.m));
  }
  return chosen;
}

// A node that is nearer to one that was kept than to the centre is found through that one; keeping
// it costs a link that could lead elsewhere. What is left over fills the list: longer lists find
// more, and the room is there.
std::vector<Neighbour> Hnsw::diverse(std::span<const Neighbour> near, size_t most,
                                     uint32_t parent) const {
  std::vector<Neighbour> kept, left;
  std::vector<const float*> kept_rows;
  const auto is_child = [&](const Neighbour& one) {
    return parent != kNobody && parents_[one.node] == parent;
  };
  for (const Neighbour& one : near) {
    if (!is_child(one) || kept.size() == most) continue;
    kept.push_back(one);
    kept_rows.push_back(rows_->row(one.node));
  }
  for (const Neighbour& one : near) {
    if (is_child(one)) continue;
    if (kept.size() == most) break;
    if (!is_apart(rows_->row(one.node), kept_rows, one.distance)) {
      left.push_back(one);
      continue;
    }
    kept.push_back(one);
    kept_rows.push_back(rows_->row(one.node));
  }
  const size_t n_more = std::min(left.size(), most - kept.size());
  kept.insert(kept.end(), left.begin(), left.begin() + static_cast<ptrdiff_t>(n_more));
  return kept;
}

// These links, which are of one node and level, added to those that it has.
std::vector<uint32_t> Hnsw::links_with(std::span<const Wanted> wanted) const {
  const uint32_t node = wanted[0].node;
  const int level = wanted[0].level;
  const auto has = links_.of(node, level);
  std::vector<uint32_t> links(has.begin(), has.end());
  for (const Wanted& one : wanted) links.push_back(one.to.node);
  if (std::ssize(links) <= links_.room(level)) return links;
  std::vector<Neighbour> near = measured(node, has);
  for (const Wanted& one : wanted) near.push_back(one.to);
  std::sort(near.begin(), near.end());
  links.clear();
  const uint32_t parent = level == 0 ? node : kNobody;
  const auto most = static_cast<size_t>(links_.most(level));
  for (const Neighbour& one : diverse(near, most, parent)) links.push_back(one.node);
  return links;
}

// Grouped by the node that gets them, so that threads share nothing.
std::vector<Hnsw::NewList> Hnsw::lists_with(std::vector<Wanted>& wanted, WorkerPool& pool) const {
  std::ranges::sort(wanted, [](const Wanted& a, const Wanted& b) {
    if (a.node != b.node) return a.node < b.node;
    return a.level != b.level ? a.level < b.level : a.to < b.to;
  });
  std::vector<size_t> groups;
  for (size_t i = 0; i < wanted.size(); ++i) {
    const bool begins =
        i == 0 || wanted[i].node != wanted[i - 1].node || wanted[i].level != wanted[i - 1].level;
    if (begins) groups.push_back(i);
  }
  std::vector<NewList> lists(groups.size());
  pool.run_items(std::ssize(groups), [&](int, int64_t i) {
    const auto at = static_cast<size_t>(i);
    const size_t end = at + 1 < groups.size() ? groups[at + 1] : wanted.size();
    const auto group = std::span<const Wanted>(wanted).subspan(groups[at], end - groups[at]);
    lists[at] = {group[0].node, group[0].level, links_with(group)};
  });
  return lists;
}

// The node, or one of those that can be reached from it, that may have another child. There is one:
// nodes may have more children than there are nodes.
uint32_t Hnsw::with_room(uint32_t node) const {
  std::vector<uint32_t> open = {node};
  std::unordered_set<uint32_t> seen = {node};
  for (size_t at = 0; at < open.size(); ++at) {
    if (n_children_[open[at]] < most_children()) return open[at];
    // Children first: where many vectors are equal, the others are full as well.
    for (const bool children : {true, false}) {
      for (const uint32_t next : links_.of(open[at], 0)) {
        if ((parents_[next] == open[at]) != children || !seen.insert(next).second) continue;
        if (n_children_[next] < most_children()) return next;
        open.push_back(next);
      }
    }
  }
  return node;
}

// One after the other, so that the order of the batch alone decides. Nodes of the batch are not
// parents yet: their own links are not there.
void Hnsw::adopt(std::span<const Chosen> batch, std::vector<Wanted>& wanted) {
  for (const Chosen& chosen : batch) {
    const auto free = std::ranges::find_if(
        chosen.near, [&](const Neighbour& one) { return n_children_[one.node] < most_children(); });
    Neighbour parent = free != chosen.near.end() ? *free : chosen.near.front();
    if (free == chosen.near.end()) {
      parent.node = with_room(parent.node);
      parent.distance = distance(parent.node, chosen.node);
    }
    if (chosen.node >= parents_.size()) {
      parents_.resize(chosen.node + 1, kNobody);
      n_children_.resize(chosen.node + 1);
    }
    parents_[chosen.node] = parent.node;
    ++n_children_[parent.node];
    const bool has_link = std::ranges::any_of(
        chosen.levels[0], [&](const Neighbour& to) { return to.node == parent.node; });
    if (!has_link) wanted.push_back({parent.node, 0, {parent.distance, chosen.node}});
  }
}

// A new node, or one that was freed, with the links that it chose. Requires: gate_ is held alone.
void Hnsw::enter(const Chosen& chosen) {
  const uint32_t node = chosen.node;
  if (node == links_.n_nodes()) {
    links_.add(static_cast<int>(chosen.levels.size()) - 1);
    states_.push_back(State::free);
    parents_.resize(std::max(parents_.size(), states_.size()), kNobody);
    n_children_.resize(parents_.size());
  } else {
    CHECK(free_.back() == node);
    free_.pop_back();
  }
  std::vector<uint32_t> nodes;
  for (size_t level = 0; level < chosen.levels.size(); ++level) {
    nodes.clear();
    for (const Neighbour& to : chosen.levels[level]) nodes.push_back(to.node);
    links_.set(node, static_cast<int>(level), nodes);
  }
  states_[node] = State::live;
  ++n_live_;
}

// Links lead both ways where there is room. All is computed first; then searches wait while lists
// are written, some microseconds for each node.
void Hnsw::link(std::span<const Chosen> batch, WorkerPool& pool) {
  std::vector<Wanted> wanted;
  for (const Chosen& chosen : batch) {
    for (size_t level = 0; level < chosen.levels.size(); ++level) {
      for (const Neighbour& to : chosen.levels[level]) {
        wanted.push_back({to.node, static_cast<int>(level), {to.distance, chosen.node}});
      }
    }
  }
  adopt(batch, wanted);
  const std::vector<NewList> lists = lists_with(wanted, pool);
  const auto held = gate_.alone();
  for (const Chosen& chosen : batch) enter(chosen);
  for (const NewList& list : lists) links_.set(list.node, list.level, list.links);
  for (const Chosen& chosen : batch) {
    if (links_.level_of(chosen.node) > links_.level_of(entry_)) entry_ = chosen.node;
  }
}

// The state alone: the row and the links stay, as searches may need them to reach others.
int64_t Hnsw::remove(std::span<const uint32_t> nodes) {
  const auto held = gate_.alone();
  int64_t n = 0;
  for (const uint32_t node : nodes) {
    if (node >= states_.size() || states_[node] != State::live) continue;
    states_[node] = State::removed;
    ++n;
  }
  n_live_ -= n;
  n_removed_ += n;
  return n;
}

}  // namespace ruv
