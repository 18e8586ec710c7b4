#include "memory/hnsw.h"

#include <cmath>
#include <shared_mutex>
#include <unordered_set>

namespace ruv {
namespace {

constexpr int kMostLevels = 32;
constexpr int64_t kMostNodes = int64_t{1} << 31;
// A batch is this share of the graph at most: nodes of one do not see each other.
constexpr int64_t kShareOfBatch = 32;
constexpr int64_t kMostInBatch = 4096;

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

bool is_product(Metric metric) { return metric == Metric::cosine || metric == Metric::dot; }

// A vector at length 1; false: it has none.
bool normalise(float* numbers, int64_t n) {
  double square = 0;
  for (int64_t i = 0; i < n; ++i) square += double{numbers[i]} * double{numbers[i]};
  const double factor = 1 / std::sqrt(square);
  if (!std::isfinite(factor)) return false;
  for (int64_t i = 0; i < n; ++i) numbers[i] = static_cast<float>(double{numbers[i]} * factor);
  return true;
}

}  // namespace

// Searches pass the turnstile before they share the lock, so that one that wants it alone does not
// wait for those that come after it.
struct Hnsw::Gate {
  mutable std::mutex turnstile;
  mutable std::shared_mutex lock;

  std::shared_lock<std::shared_mutex> share() const {
    const std::lock_guard<std::mutex> turn(turnstile);
    return std::shared_lock<std::shared_mutex>(lock);
  }
  std::unique_lock<std::shared_mutex> alone() const {
    const std::lock_guard<std::mutex> turn(turnstile);
    return std::unique_lock<std::shared_mutex>(lock);
  }
};

Status check(const HnswOptions& options) {
  if (options.n_dims < 1 || options.n_dims > 65536) {
    return fail(Code::invalid, "vectors of {} numbers, not 1 to 65536", options.n_dims);
  }
  if (options.m < 2 || options.m > 256) {
    return fail(Code::invalid, "m is {}, not from 2 to 256", options.m);
  }
  if (options.has_codes && options.metric == Metric::manhattan) {
    return fail(Code::unsupported, "distances by manhattan cannot be had of vectors in 8 bits");
  }
  if (options.n_looked_at < 1) {
    return fail(Code::invalid, "n_looked_at is {}, less than 1", options.n_looked_at);
  }
  return {};
}

void HnswSearch::begin(int64_t n_nodes) {
  if (std::ssize(tags_) < n_nodes) tags_.resize(static_cast<size_t>(n_nodes + n_nodes / 2));
  if (++tag_ == 0) {
    std::ranges::fill(tags_, uint16_t{0});
    tag_ = 1;
  }
}

Hnsw::Hnsw(const HnswOptions& options)
    : options_(options),
      kernel_(kernel_of(options.metric)),
      rows_(options.n_dims),
      codes_(options.n_dims),
      links_(options.m),
      gate_(std::make_shared<Gate>()) {}

int64_t Hnsw::size() const {
  const auto held = gate_->share();
  return links_.n_nodes();
}

// Exponentially distributed, and a function of the node's number alone.
int Hnsw::level_of_new(uint32_t node) const {
  const uint64_t bits = mixed(options_.seed + 0x9E3779B97F4A7C15ULL * (uint64_t{node} + 1));
  const double u = (static_cast<double>(bits >> 11) + 1) * 0x1p-53;  // above 0
  const auto level = static_cast<int>(-std::log(u) / std::log(static_cast<double>(options_.m)));
  return std::min(level, kMostLevels - 1);
}

// Rows that no search reaches yet.
Status Hnsw::take(std::span<const float> vectors, int64_t first) {
  const int64_t n_dims = options_.n_dims;
  const int64_t n = std::ssize(vectors) / n_dims;
  if (std::ssize(vectors) % n_dims != 0) {
    return fail(Code::invalid, "{} numbers are not whole vectors of {}", vectors.size(), n_dims);
  }
  if (first + n > kMostNodes) return fail(Code::invalid, "more than {} vectors", kMostNodes);
  for (size_t i = 0; i < vectors.size(); ++i) {
    if (std::isfinite(vectors[i])) continue;
    return fail(Code::invalid, "vector {}: a number is {}", static_cast<int64_t>(i) / n_dims,
                vectors[i]);
  }
  {
    const auto held = gate_->alone();
    TRY(rows_.grow(first + n));
    if (options_.has_codes) TRY(codes_.grow(first + n));
  }
  for (int64_t i = 0; i < n; ++i) {
    float* const row = rows_.row(static_cast<uint32_t>(first + i));
    std::copy_n(vectors.data() + i * n_dims, n_dims, row);
    if (options_.metric == Metric::cosine && !normalise(row, n_dims)) {
      return fail(Code::invalid, "vector {}: it has no length, and so no direction", i);
    }
    if (options_.has_codes) codes_.set(static_cast<uint32_t>(first + i), row);
  }
  return {};
}

Status Hnsw::add(std::span<const float> vectors, WorkerPool& pool) {
  const int64_t first = links_.n_nodes();
  TRY(take(vectors, first));
  const int64_t end = first + std::ssize(vectors) / options_.n_dims;
  if (first == 0 && end > 0) add_first();
  std::vector<HnswSearch> memories(static_cast<size_t>(pool.n_threads()));
  for (int64_t at = links_.n_nodes(); at < end; at = links_.n_nodes()) {
    const int64_t most = std::clamp<int64_t>(at / kShareOfBatch, 1, kMostInBatch);
    add_batch(static_cast<uint32_t>(at), static_cast<uint32_t>(std::min(most, end - at)), pool,
              memories);
  }
  return {};
}

void Hnsw::add_first() {
  const auto held = gate_->alone();
  links_.add(level_of_new(0));
  parents_.push_back(kNobody);
  n_children_.push_back(0);
  entry_ = 0;
}

void Hnsw::add_batch(uint32_t first, uint32_t n, WorkerPool& pool, std::span<HnswSearch> memories) {
  std::vector<Chosen> batch(n);
  pool.run_items(n, [&](int thread, int64_t i) {
    batch[static_cast<size_t>(i)] =
        choose_links(first + static_cast<uint32_t>(i), memories[static_cast<size_t>(thread)]);
  });
  link(batch, pool);
}

// On levels that the graph does not have yet there is nobody to link to.
Hnsw::Chosen Hnsw::choose_links(uint32_t node, HnswSearch& memory) const {
  Chosen chosen{node, {}, {}};
  chosen.levels.resize(static_cast<size_t>(level_of_new(node) + 1));
  const float* const row = rows_.row(node);
  const int top = links_.level_of(entry_);
  const int from_level = std::min(level_of_new(node), top);
  Neighbour from = descend(row, from_level, memory);
  std::vector<Neighbour> near;
  for (int level = from_level; level >= 0; --level) {
    search_level(row, from, level, options_.n_looked_at, memory);
    near.clear();
    for (size_t i = 0; i < memory.nearest.size(); ++i) near.push_back(memory.nearest.at(i));
    chosen.levels[static_cast<size_t>(level)] = diverse(near, static_cast<size_t>(options_.m));
    from = near.front();
  }
  chosen.near = std::move(near);
  return chosen;
}

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
    kept_rows.push_back(rows_.row(one.node));
  }
  for (const Neighbour& one : near) {
    if (is_child(one)) continue;
    if (kept.size() == most) break;
    if (!is_apart(rows_.row(one.node), kept_rows, one.distance)) {
      left.push_back(one);
      continue;
    }
    kept.push_back(one);
    kept_rows.push_back(rows_.row(one.node));
  }
  const size_t n_more = std::min(left.size(), most - kept.size());
  kept.insert(kept.end(), left.begin(), left.begin() + static_cast<std::ptrdiff_t>(n_more));
  return kept;
}

// The links of `first` … `last`, which are of one node and level, added to those that it has.
std::vector<uint32_t> Hnsw::links_with(const Wanted* first, const Wanted* last) const {
  const auto has = links_.of(first->node, first->level);
  const auto most = static_cast<size_t>(links_.most(first->level));
  std::vector<uint32_t> links(has.begin(), has.end());
  for (const Wanted* one = first; one != last; ++one) links.push_back(one->to.node);
  if (std::ssize(links) <= links_.room(first->level)) return links;
  std::vector<Neighbour> near;
  std::vector<const float*> rows;
  for (const uint32_t node : has) rows.push_back(rows_.row(node));
  std::vector<float> distances(has.size());
  measure(rows_.row(first->node), rows, distances.data());
  for (size_t i = 0; i < has.size(); ++i) near.push_back({distances[i], has[i]});
  for (const Wanted* one = first; one != last; ++one) near.push_back(one->to);
  std::sort(near.begin(), near.end());
  links.clear();
  const uint32_t parent = first->level == 0 ? first->node : kNobody;
  for (const Neighbour& one : diverse(near, most, parent)) links.push_back(one.node);
  return links;
}

// The node, or one of those that can be reached from it, that may have another child. There is one:
// nodes may have more children than there are nodes.
uint32_t Hnsw::with_room(uint32_t node) const {
  const int most = links_.most(0) / 2;
  std::vector<uint32_t> open = {node};
  std::unordered_set<uint32_t> seen = {node};
  for (size_t at = 0; at < open.size(); ++at) {
    if (n_children_[open[at]] < most) return open[at];
    // Children first: where many vectors are equal, the others are full as well.
    for (const bool children : {true, false}) {
      for (const uint32_t next : links_.of(open[at], 0)) {
        if ((parents_[next] == open[at]) != children || !seen.insert(next).second) continue;
        if (n_children_[next] < most) return next;
        open.push_back(next);
      }
    }
  }
  return node;
}

// One after the other, so that the order of the batch alone decides. Nodes of the batch are not
// parents yet: their own links are not there.
void Hnsw::adopt(std::span<const Chosen> batch, std::vector<Wanted>& wanted) {
  const int most = links_.most(0) / 2;
  for (const Chosen& chosen : batch) {
    const auto free = std::ranges::find_if(
        chosen.near, [&](const Neighbour& one) { return n_children_[one.node] < most; });
    Neighbour parent = free != chosen.near.end() ? *free : chosen.near.front();
    if (free == chosen.near.end()) {
      parent.node = with_room(parent.node);
      parent.distance = distance(parent.node, chosen.node);
    }
    parents_.push_back(parent.node);
    n_children_.push_back(0);
    ++n_children_[parent.node];
    const bool has_link = std::ranges::any_of(
        chosen.levels[0], [&](const Neighbour& to) { return to.node == parent.node; });
    if (!has_link) wanted.push_back({parent.node, 0, {parent.distance, chosen.node}});
  }
}

// Links back are grouped by the node that gets them, so that threads share nothing.
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
  std::vector<std::vector<uint32_t>> lists(groups.size());
  pool.run_items(std::ssize(groups), [&](int, int64_t i) {
    const auto at = static_cast<size_t>(i);
    const size_t end = at + 1 < groups.size() ? groups[at + 1] : wanted.size();
    lists[at] = links_with(wanted.data() + groups[at], wanted.data() + end);
  });
  const auto held = gate_->alone();
  std::vector<uint32_t> nodes;
  for (const Chosen& chosen : batch) {
    links_.add(static_cast<int>(chosen.levels.size()) - 1);
    for (size_t level = 0; level < chosen.levels.size(); ++level) {
      nodes.clear();
      for (const Neighbour& to : chosen.levels[level]) nodes.push_back(to.node);
      links_.set(chosen.node, static_cast<int>(level), nodes);
    }
  }
  for (size_t i = 0; i < groups.size(); ++i) {
    links_.set(wanted[groups[i]].node, wanted[groups[i]].level, lists[i]);
  }
  for (const Chosen& chosen : batch) {
    if (links_.level_of(chosen.node) > links_.level_of(entry_)) entry_ = chosen.node;
  }
}

void Hnsw::measure(const float* query, std::span<const float* const> rows, float* out) const {
  const auto n = std::ssize(rows);
  kernel_(query, rows.data(), n, rows_.step(), out);
  if (!is_product(options_.metric)) return;
  const float whole = options_.metric == Metric::cosine ? 1.0F : 0.0F;
  for (int64_t i = 0; i < n; ++i) out[i] = whole - out[i];
}

// Some rows at a time, as most are found near to one of the first.
bool Hnsw::is_apart(const float* row, std::span<const float* const> others, float distance) const {
  constexpr size_t kAtOnce = 4;
  float distances[kAtOnce];
  for (size_t at = 0; at < others.size(); at += kAtOnce) {
    const size_t n = std::min(kAtOnce, others.size() - at);
    measure(row, others.subspan(at, n), distances);
    for (size_t i = 0; i < n; ++i) {
      if (distances[i] < distance) return false;
    }
  }
  return true;
}

float Hnsw::distance(uint32_t a, uint32_t b) const {
  const float* const rows[] = {rows_.row(b)};
  float distance = 0;
  measure(rows_.row(a), rows, &distance);
  return distance;
}

// |q - x|² = |q|² + |x|² - 2 q · x, with products of codes times both scales.
void Hnsw::measure_codes(HnswSearch& memory) const {
  const size_t n = memory.nodes_.size();
  memory.code_rows_.clear();
  for (const uint32_t node : memory.nodes_) memory.code_rows_.push_back(codes_.codes(node));
  memory.products_.resize(n);
  distance_kernels().dot_int8(memory.codes_.data(), memory.code_rows_.data(),
                              static_cast<int64_t>(n), codes_.step(), memory.products_.data());
  const ByteScale& query = memory.scale_;
  for (size_t i = 0; i < n; ++i) {
    const ByteScale& row = codes_.scale(memory.nodes_[i]);
    const float product = query.scale * row.scale * static_cast<float>(memory.products_[i]);
    memory.distances_[i] =
        is_product(options_.metric) ? -product : query.square + row.square - 2 * product;
  }
}

// What is nearest by codes is nearest within their error: twice as many and some more are measured.
void Hnsw::measure_again(const float* query, size_t k, HnswSearch& memory) const {
  constexpr size_t kMore = 16;
  const size_t n = std::min(memory.nearest.size(), 2 * k + kMore);
  memory.nodes_.clear();
  for (size_t i = 0; i < n; ++i) memory.nodes_.push_back(memory.nearest.at(i).node);
  memory.codes_.clear();
  measure(query, memory);
  memory.measured_.clear();
  for (size_t i = 0; i < n; ++i) {
    memory.measured_.push_back({memory.distances_[i], memory.nodes_[i]});
  }
  std::sort(memory.measured_.begin(), memory.measured_.end());
}

void Hnsw::measure(const float* query, HnswSearch& memory) const {
  if (!memory.codes_.empty()) {
    memory.distances_.resize(memory.nodes_.size());
    return measure_codes(memory);
  }
  memory.rows_.clear();
  for (const uint32_t node : memory.nodes_) memory.rows_.push_back(rows_.row(node));
  memory.distances_.resize(memory.nodes_.size());
  measure(query, memory.rows_, memory.distances_.data());
}

// Steps to the nearest linked node while there is a nearer one.
Neighbour Hnsw::descend(const float* query, int level, HnswSearch& memory) const {
  memory.nodes_.assign(1, entry_);
  measure(query, memory);
  Neighbour at{memory.distances_[0], entry_};
  for (int on = links_.level_of(entry_); on > level; --on) {
    for (bool moves = true; moves;) {
      const auto links = links_.of(at.node, on);
      memory.nodes_.assign(links.begin(), links.end());
      measure(query, memory);
      moves = false;
      for (size_t i = 0; i < memory.nodes_.size(); ++i) {
        const Neighbour other{memory.distances_[i], memory.nodes_[i]};
        if (!(other < at)) continue;
        at = other;
        moves = true;
      }
    }
  }
  return at;
}

void Hnsw::search_level(const float* query, const Neighbour& from, int level, int64_t n_looked_at,
                        HnswSearch& memory) const {
  memory.begin(links_.n_nodes());
  memory.nearest.begin(static_cast<size_t>(n_looked_at));
  memory.visit(from.node);
  memory.nearest.add(from);
  while (const Neighbour* const at = memory.nearest.follow()) {
    memory.nodes_.clear();
    for (const uint32_t node : links_.of(at->node, level)) {
      if (memory.visit(node)) memory.nodes_.push_back(node);
    }
    measure(query, memory);
    for (size_t i = 0; i < memory.nodes_.size(); ++i) {
      memory.nearest.add({memory.distances_[i], memory.nodes_[i]});
    }
  }
}

// The query is filled up with zeros as rows are.
void Hnsw::search(const float* query, int64_t k, int64_t n_looked_at, HnswSearch& memory,
                  std::vector<Neighbour>& found) const {
  found.clear();
  memory.query_.assign(static_cast<size_t>(rows_.step()), 0.0F);
  std::copy_n(query, options_.n_dims, memory.query_.data());
  if (options_.metric == Metric::cosine) normalise(memory.query_.data(), options_.n_dims);
  memory.codes_.clear();
  if (options_.has_codes) {
    memory.codes_.resize(static_cast<size_t>(codes_.step()));
    memory.scale_ = codes_.round(memory.query_.data(), memory.codes_.data());
  }
  const auto held = gate_->share();
  if (links_.n_nodes() == 0 || k < 1) return;
  const Neighbour from = descend(memory.query_.data(), 0, memory);
  search_level(memory.query_.data(), from, 0, std::max(k, n_looked_at), memory);
  const size_t n = std::min(memory.nearest.size(), static_cast<size_t>(k));
  if (options_.has_codes) {
    measure_again(memory.query_.data(), n, memory);
    found.assign(memory.measured_.begin(), memory.measured_.begin() + static_cast<ptrdiff_t>(n));
    return;
  }
  for (size_t i = 0; i < n; ++i) found.push_back(memory.nearest.at(i));
}

std::span<const float> Hnsw::vector(uint32_t number) const {
  const auto held = gate_->share();
  return {rows_.row(number), static_cast<size_t>(options_.n_dims)};
}

int64_t Hnsw::n_bytes() const {
  const auto held = gate_->share();
  return rows_.n_bytes() + codes_.n_bytes() + links_.n_bytes();
}

}  // namespace ruv
