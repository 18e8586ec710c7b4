// Searching an index on disk: a walk by codes, which reads the block of each node that it follows.
// All that a block has is used at once, as what costs time is to read it.
#include <algorithm>

#include "memory/disk_index.h"
#include "memory/hnsw.h"
#include "memory/row_distances.h"

namespace ruv {
namespace {

constexpr int kMostBeam = 64;
// Comparing as many codes takes as long as reading a block of a fast disk.
constexpr int64_t kCodesOfRead = 1024;

}  // namespace

Result<std::vector<DiskIndex::Found>> DiskIndex::search(std::span<const float> query,
                                                        const DiskSearchOptions& options,
                                                        DiskSearch& memory) const {
  TRY(check_query({.metric = shape().metric, .n_dims = shape().n_dims}, query));
  if (options.beam < 1 || options.beam > kMostBeam) {
    return fail(Code::invalid, "beam is {}, not 1 to {}", options.beam, kMostBeam);
  }
  if (memory.block_.n_bytes() < shape().block_bytes) {
    memory.block_ = TRY(Buffer::allocate(shape().block_bytes));
  }
  std::vector<Found> found;
  const auto held = gate_.share();
  memory.n_read_ = 0;
  memory.is_cut_short_ = false;
  if (options.k < 1 || removed_.size() == shape().n_nodes) return found;
  begin(query, memory);
  const int64_t n_list = std::max(options.k, options.n_looked_at);
  TRY(options.among == nullptr && removed_.size() == 0 ? search_all(options, n_list, memory)
                                                       : search_among(options, memory));
  // A walk that could not read a block may not have come to all that is near.
  if (memory.is_cut_short_) TRY(compare_each(options, memory));
  for (size_t i = 0; i < memory.best_.size(); ++i) {
    const Neighbour& one = memory.best_.at(i);
    found.push_back({ids_[one.node], one.distance});
  }
  return found;
}

// The query is filled up with zeros as rows are.
void DiskIndex::begin(std::span<const float> query, DiskSearch& memory) const {
  memory.query_.assign(static_cast<size_t>(shape().step()), 0.0F);
  std::ranges::copy(query, memory.query_.begin());
  if (shape().metric == Metric::cosine) {
    normalise(std::span(memory.query_).first(query.size()));
  }
  codes_.begin(memory.query_.data(), memory.table_);
}

// Distances of memory.nodes_ by codes, to memory.distances_.
void DiskIndex::measure_codes(DiskSearch& memory) const {
  memory.distances_.resize(memory.nodes_.size());
  codes_.measure(memory.table_, memory.nodes_, memory.codes_, memory.distances_.data());
}

// Follows the nearest nodes that were not followed, as many blocks at a time as the beam has. A
// node whose block was read before needs nothing more: all of that block was used then.
Status DiskIndex::search_all(const DiskSearchOptions& options, int64_t n_list,
                             DiskSearch& memory) const {
  memory.nodes_seen_.clear();
  memory.blocks_seen_.clear();
  memory.near_.begin(static_cast<size_t>(n_list));
  memory.best_.begin(static_cast<size_t>(options.k));
  memory.nodes_.clear();
  for (const uint32_t entry : header_.entries) {
    if (memory.nodes_seen_.insert(entry)) memory.nodes_.push_back(entry);
  }
  measure_codes(memory);
  for (size_t i = 0; i < memory.nodes_.size(); ++i) {
    memory.near_.add({memory.distances_[i], memory.nodes_[i]});
  }
  while (true) {
    memory.wave_.clear();
    while (std::ssize(memory.wave_) < options.beam) {
      const Neighbour* const at = memory.near_.follow();
      if (at == nullptr) break;
      const uint32_t block = block_of(at->node);
      if (memory.blocks_seen_.insert(block)) memory.wave_.push_back(block);
    }
    if (memory.wave_.empty()) return {};
    TRY(read_wave(options, true, memory));
  }
}

// Reads memory.wave_, which the disk hears of at once.
Status DiskIndex::read_wave(const DiskSearchOptions& options, bool follows,
                            DiskSearch& memory) const {
  const int64_t block_bytes = shape().block_bytes;
  for (const uint32_t block : memory.wave_) {
    if (memory.wave_.size() == 1 || is_cached(block)) continue;
    file_.expect_read(static_cast<uint64_t>(offset_of(block)), static_cast<uint64_t>(block_bytes));
  }
  for (const uint32_t block : memory.wave_) {
    if (is_cached(block)) {
      take_block(block_in(block, cached(block)), block, options, follows, memory);
      continue;
    }
    const std::span<std::byte> bytes(memory.block_.get(), static_cast<size_t>(block_bytes));
    const Status status = read_block(block, bytes);
    ++memory.n_read_;
    if (status.code() == Code::corrupt && is_all_removed(block)) {
      memory.is_cut_short_ = true;
      continue;
    }
    TRY(Status(status));
    take_block(block_in(block, bytes), block, options, follows, memory);
  }
  return {};
}

// Exact distances of the nodes of a block, to memory.distances_.
void DiskIndex::measure_block(const DiskBlock& block, int64_t number, DiskSearch& memory) const {
  const RowDistances exact(shape().metric, shape().step());
  const int64_t n = shape().n_nodes_in(number);
  memory.distances_.resize(static_cast<size_t>(n));
  memory.rows_.clear();
  memory.halves_.clear();
  memory.scales_.clear();
  for (int64_t i = 0; i < n; ++i) {
    const DiskNode node = block.node(i);
    memory.rows_.push_back(reinterpret_cast<const float*>(node.row));
    memory.halves_.push_back(reinterpret_cast<const uint16_t*>(node.row));
    memory.scales_.push_back(node.scale);
  }
  const float* const query = memory.query_.data();
  if (shape().has_halves) {
    exact.measure(query, memory.halves_, memory.scales_.data(), memory.distances_.data());
  } else {
    exact.measure(query, memory.rows_, memory.distances_.data());
  }
}

void DiskIndex::take_block(const DiskBlock& block, int64_t number, const DiskSearchOptions& options,
                           bool follows, DiskSearch& memory) const {
  measure_block(block, number, memory);
  const auto first = static_cast<uint32_t>(number * shape().nodes_of_block());
  for (uint32_t i = 0; i < memory.distances_.size(); ++i) {
    if (!may_be_found(first + i, options.among)) continue;
    memory.best_.add({memory.distances_[i], first + i});
  }
  if (follows) follow_block(block, number, memory);
}

// Links of those nodes of the block that are near enough to be followed at some time.
void DiskIndex::follow_block(const DiskBlock& block, int64_t number, DiskSearch& memory) const {
  const auto first = static_cast<uint32_t>(number * shape().nodes_of_block());
  memory.nodes_.clear();
  for (int64_t i = 0; i < shape().n_nodes_in(number); ++i) {
    memory.nodes_.push_back(first + static_cast<uint32_t>(i));
  }
  measure_codes(memory);
  memory.followed_.clear();
  for (size_t i = 0; i < memory.nodes_.size(); ++i) {
    const Neighbour one{memory.distances_[i], memory.nodes_[i]};
    const bool is_new = memory.nodes_seen_.insert(one.node);
    // One that was seen before is in the list if it is near enough, or as near as its last one.
    if (is_new ? memory.near_.takes(one) : memory.near_.has_up_to(one)) {
      memory.followed_.push_back(static_cast<uint32_t>(i));
    }
    if (is_new) memory.near_.add(one);
  }
  memory.nodes_.clear();
  for (const uint32_t i : memory.followed_) {
    const DiskNode node = block.node(i);
    for (size_t j = 0; j < node.n_links(); ++j) {
      if (memory.nodes_seen_.insert(node.link(j))) memory.nodes_.push_back(node.link(j));
    }
  }
  measure_codes(memory);
  for (size_t i = 0; i < memory.nodes_.size(); ++i) {
    memory.near_.add({memory.distances_[i], memory.nodes_[i]});
  }
}

// A list of as many nodes as it takes for n_looked_at that may be found, if those lie evenly among
// the others; twice as many where they do not. Once comparing the codes of each costs less than the
// blocks that are read besides, it does that.
Status DiskIndex::search_among(const DiskSearchOptions& options, DiskSearch& memory) const {
  const int64_t n_all = shape().n_nodes;
  const int64_t n_may = options.among != nullptr ? options.among->size() : n_all - removed_.size();
  memory.best_.begin(static_cast<size_t>(options.k));
  if (n_may == 0) return {};
  const int64_t n_looked_at = std::max(options.k, options.n_looked_at);
  const int64_t n_needed = std::max(options.k, n_looked_at / 2);
  int64_t n_list = (n_looked_at * n_all + n_may - 1) / n_may;
  for (; n_may > kCodesOfRead * (n_list - n_looked_at); n_list *= 2) {
    TRY(search_all(options, n_list, memory));
    int64_t n_found = 0;
    for (size_t i = 0; i < memory.near_.size(); ++i) {
      if (may_be_found(memory.near_.at(i).node, options.among)) ++n_found;
    }
    if (n_found >= n_needed || n_list >= n_all) return {};
  }
  return compare_each(options, memory);
}

// The nearest by codes, all of which are in memory, and then their blocks in the order of the file.
Status DiskIndex::compare_each(const DiskSearchOptions& options, DiskSearch& memory) const {
  constexpr size_t kAtOnce = 64;
  memory.near_.begin(static_cast<size_t>(std::max(options.k, options.n_looked_at)));
  memory.best_.begin(static_cast<size_t>(options.k));
  memory.nodes_.clear();
  const auto compare = [&] {
    measure_codes(memory);
    for (size_t i = 0; i < memory.nodes_.size(); ++i) {
      memory.near_.add({memory.distances_[i], memory.nodes_[i]});
    }
    memory.nodes_.clear();
  };
  const auto take = [&](uint32_t node) {
    if (node >= ids_.size() || removed_.has(node)) return;
    memory.nodes_.push_back(node);
    if (memory.nodes_.size() == kAtOnce) compare();
  };
  if (options.among != nullptr) {
    options.among->for_each(take);
  } else {
    for (uint32_t node = 0; node < ids_.size(); ++node) take(node);
  }
  compare();
  std::vector<uint32_t> blocks;
  for (size_t i = 0; i < memory.near_.size(); ++i) {
    blocks.push_back(block_of(memory.near_.at(i).node));
  }
  std::ranges::sort(blocks);
  blocks.erase(std::unique(blocks.begin(), blocks.end()), blocks.end());
  for (size_t at = 0; at < blocks.size(); at += static_cast<size_t>(options.beam)) {
    const size_t n = std::min(static_cast<size_t>(options.beam), blocks.size() - at);
    memory.wave_.assign(blocks.begin() + static_cast<ptrdiff_t>(at),
                        blocks.begin() + static_cast<ptrdiff_t>(at + n));
    TRY(read_wave(options, false, memory));
  }
  return {};
}

}  // namespace ruv
