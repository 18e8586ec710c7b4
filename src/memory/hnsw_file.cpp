// The graph in a snapshot: how many nodes, the entry, then each node's state, parent and lists.
//
// What is read may be anybody's: a graph is used only if every link leads to a node that has the
// level, and each parent to a root over links, so that searches and repairs stay within it.
#include <algorithm>
#include <atomic>
#include <numeric>

#include "memory/hnsw.h"

namespace ruv {
namespace {

// A node takes at least its state, its parent and the length of a list.
constexpr uint64_t kLeastBytesOfNode = 1 + sizeof(uint32_t) + sizeof(uint16_t);
constexpr int64_t kNodesPerItem = 4096;

}  // namespace

Status Hnsw::save(PieceWriter& file) const {
  TRY(file.put(static_cast<uint32_t>(links_.n_nodes())));
  TRY(file.put(entry_));
  for (uint32_t node = 0; node < links_.n_nodes(); ++node) {
    TRY(file.put(static_cast<uint8_t>(states_[node])));
    TRY(file.put(parents_[node]));
    for (int level = 0; level <= links_.level_of(node); ++level) {
      // The lists of a freed node are those that it had.
      const auto links =
          states_[node] == State::free ? std::span<const uint32_t>() : links_.of(node, level);
      TRY(file.put(static_cast<uint16_t>(links.size())));
      TRY(file.write(std::as_bytes(links)));
    }
  }
  return codes_ != nullptr ? codes_->save(file, used_nodes()) : Status();
}

std::vector<uint32_t> Hnsw::used_nodes() const {
  std::vector<uint32_t> nodes;
  for (uint32_t node = 0; node < states_.size(); ++node) {
    if (states_[node] != State::free) nodes.push_back(node);
  }
  return nodes;
}

std::vector<uint32_t> Hnsw::live_nodes() const {
  std::vector<uint32_t> nodes;
  for (uint32_t node = 0; node < states_.size(); ++node) {
    if (states_[node] == State::live) nodes.push_back(node);
  }
  return nodes;
}

Status Hnsw::load(PieceReader& file, bool has_codes, WorkerPool& pool) {
  const auto n = TRY(file.get<uint32_t>());
  entry_ = TRY(file.get<uint32_t>());
  if (uint64_t{n} * kLeastBytesOfNode > file.n_left()) return file.error("more nodes than bytes");
  TRY(load_nodes(file, n));
  const bool has_nodes = n_live_ + n_removed_ > 0;
  if (has_nodes ? !may_link(entry_, 0) : entry_ != kNobody) return file.error("no entry");
  TRY(check_parents(file));
  TRY(check_links(pool));
  return codes_ != nullptr ? load_codes(file, has_codes, pool) : Status();
}

Status Hnsw::load_codes(PieceReader& file, bool has_codes, WorkerPool& pool) {
  if (has_codes || codes_->n_to_learn_from() > 0) return codes_->load(file, used_nodes());
  code_all(pool);
  return {};
}

// Levels are not in the file: they follow from the numbers of the nodes.
Status Hnsw::load_nodes(PieceReader& file, int64_t n) {
  TRY(rows_->grow(n));
  if (codes_ != nullptr) TRY(codes_->grow(n));
  int64_t n_upper = 0;
  for (int64_t node = 0; node < n; ++node) n_upper += level_of_new(static_cast<uint32_t>(node));
  TRY(links_.grow(n, n_upper));
  states_.resize(static_cast<size_t>(n));
  parents_.resize(static_cast<size_t>(n));
  n_children_.resize(static_cast<size_t>(n));
  for (int64_t at = 0; at < n; ++at) {
    const auto node = static_cast<uint32_t>(at);
    const auto state = TRY(file.get<uint8_t>());
    if (state > static_cast<uint8_t>(State::free)) return file.error("an unknown state of a node");
    states_[node] = static_cast<State>(state);
    parents_[node] = TRY(file.get<uint32_t>());
    TRY(load_lists(file, node));
    if (states_[node] == State::live) ++n_live_;
    if (states_[node] == State::removed) ++n_removed_;
    if (states_[node] == State::free) free_.push_back(node);
  }
  std::ranges::reverse(free_);
  return {};
}

Status Hnsw::load_lists(PieceReader& file, uint32_t node) {
  uint32_t links[UINT8_MAX * 4];
  links_.add(level_of_new(node));
  for (int level = 0; level <= links_.level_of(node); ++level) {
    const auto n = TRY(file.get<uint16_t>());
    if (n > links_.room(level)) return file.error("a list of more links than there is room for");
    const std::span<uint32_t> list(links, n);
    TRY(file.read(std::as_writable_bytes(list)));
    links_.set(node, level, list);
  }
  return {};
}

const char* Hnsw::fault_of(uint32_t node) const {
  if (states_[node] == State::free) return nullptr;
  for (int level = 0; level <= links_.level_of(node); ++level) {
    for (const uint32_t to : links_.of(node, level)) {
      if (!may_link(to, level)) return "a link to a node that is not there";
    }
  }
  const uint32_t parent = parents_[node];
  if (parent == kNobody || states_[parent] == State::free) return nullptr;
  const auto siblings = links_.of(parent, 0);
  const bool is_linked = std::ranges::find(siblings, node) != siblings.end();
  return is_linked ? nullptr : "a parent without a link to its child";
}

// With all threads, as it reads all links. Which fault is named where there are several depends on
// the threads; that there is one does not.
Status Hnsw::check_links(WorkerPool& pool) const {
  std::atomic<const char*> fault = nullptr;
  const int64_t n = links_.n_nodes();
  pool.run_items((n + kNodesPerItem - 1) / kNodesPerItem, [&](int, int64_t item) {
    for (int64_t node = item * kNodesPerItem; node < std::min(n, (item + 1) * kNodesPerItem);
         ++node) {
      if (const char* const found = fault_of(static_cast<uint32_t>(node))) fault = found;
    }
  });
  if (fault != nullptr) return fail(Code::corrupt, "a graph has {}", fault.load());
  return {};
}

// One root, and from each node a way up to it. A way ends where one that was seen before begins.
Status Hnsw::check_parents(PieceReader& file) {
  enum class Seen : uint8_t { no, now, before };
  std::vector<Seen> seen(states_.size(), Seen::no);
  int64_t n_roots = 0;
  for (uint32_t node = 0; node < states_.size(); ++node) {
    if (states_[node] == State::free) continue;
    const uint32_t parent = parents_[node];
    if (parent == kNobody) {
      ++n_roots;
      continue;
    }
    if (!may_link(parent, 0)) return file.error("a parent that is not there");
    if (++n_children_[parent] > links_.most(0)) return file.error("a parent of too many");
  }
  std::vector<uint32_t> way;
  for (uint32_t node = 0; node < states_.size(); ++node) {
    if (states_[node] == State::free) continue;
    way.clear();
    uint32_t at = node;
    for (; at != kNobody && seen[at] == Seen::no; at = parents_[at]) {
      seen[at] = Seen::now;
      way.push_back(at);
    }
    if (at != kNobody && seen[at] == Seen::now) return file.error("parents in a ring");
    for (const uint32_t passed : way) seen[passed] = Seen::before;
  }
  if (n_roots != (n_live_ + n_removed_ > 0 ? 1 : 0)) return file.error("not one root");
  return {};
}

void Hnsw::code_all(WorkerPool& pool) {
  const int64_t n = links_.n_nodes();
  std::vector<CodedQuery> memories(static_cast<size_t>(pool.n_threads()));
  pool.run_items((n + kNodesPerItem - 1) / kNodesPerItem, [&](int thread, int64_t item) {
    CodedQuery& memory = memories[static_cast<size_t>(thread)];
    for (int64_t at = item * kNodesPerItem; at < std::min(n, (item + 1) * kNodesPerItem); ++at) {
      const auto node = static_cast<uint32_t>(at);
      if (states_[node] != State::free) codes_->set(node, rows_->row(node), memory);
    }
  });
}

}  // namespace ruv
