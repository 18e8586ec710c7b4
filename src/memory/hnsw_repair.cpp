// Repairing a graph after nodes were removed, as FreshDiskANN does (Singh and others, 2021): a node
// that was linked to a removed one is linked to the nearest of what can be reached through it.
//
// A node whose parent was removed gets another one. Parents must not make a ring: nodes that hang
// together are one set of a union-find structure, and only a node of another set can be a parent.
#include <algorithm>
#include <numeric>
#include <unordered_map>
#include <unordered_set>

#include "memory/hnsw.h"

namespace ruv {
namespace {

// Lists that change at a time while searches wait.
constexpr size_t kListsAtOnce = 512;
// Removed nodes that are passed to find others, for one list.
constexpr size_t kMostPassed = 1024;
constexpr int64_t kNodesOfItem = 1024;

// Disjoint sets of numbers.
class Sets {
 public:
  explicit Sets(size_t n) : up_(n) { std::iota(up_.begin(), up_.end(), uint32_t{0}); }
  uint32_t find(uint32_t x) {
    while (up_[x] != x) x = up_[x] = up_[up_[x]];
    return x;
  }
  void join(uint32_t a, uint32_t b) { up_[find(a)] = find(b); }

 private:
  std::vector<uint32_t> up_;
};

}  // namespace

class Hnsw::Repair {
 public:
  Repair(Hnsw& graph, WorkerPool& pool)
      : graph_(graph), pool_(pool), n_nodes_(graph.links_.n_nodes()) {}

  void run() {
    replace_links();
    choose_entry();
    adopt_orphans();
    free_removed();
  }

 private:
  bool is_live(uint32_t node) const { return graph_.states_[node] == State::live; }

  void set(std::span<const NewList> lists) {
    for (size_t at = 0; at < lists.size(); at += kListsAtOnce) {
      const auto held = graph_.gate_.alone();
      for (const NewList& list : lists.subspan(at, std::min(kListsAtOnce, lists.size() - at))) {
        graph_.links_.set(list.node, list.level, list.links);
      }
    }
  }

  // All new lists are computed before the first is set, so that each depends on the old ones.
  void replace_links() {
    const int64_t n_items = (n_nodes_ + kNodesOfItem - 1) / kNodesOfItem;
    std::vector<std::vector<NewList>> lists(static_cast<size_t>(n_items));
    pool_.run_items(n_items, [&](int, int64_t item) {
      const int64_t end = std::min(n_nodes_, (item + 1) * kNodesOfItem);
      for (int64_t node = item * kNodesOfItem; node < end; ++node) {
        replace_links_of(static_cast<uint32_t>(node), lists[static_cast<size_t>(item)]);
      }
    });
    for (const auto& some : lists) set(some);
  }

  void replace_links_of(uint32_t node, std::vector<NewList>& lists) const {
    if (!is_live(node)) return;
    for (int level = 0; level <= graph_.links_.level_of(node); ++level) {
      const auto links = graph_.links_.of(node, level);
      if (std::ranges::all_of(links, [&](uint32_t to) { return is_live(to); })) continue;
      const auto most = static_cast<size_t>(graph_.links_.most(level));
      const auto near = graph_.measured(node, reached_from(node, level));
      NewList& list = lists.emplace_back(NewList{node, level, {}});
      const uint32_t parent = level == 0 ? node : kNobody;
      for (const Neighbour& one : graph_.diverse(near, most, parent)) {
        list.links.push_back(one.node);
      }
    }
  }

  // Live nodes that are linked to, or can be reached through removed ones.
  std::vector<uint32_t> reached_from(uint32_t node, int level) const {
    std::vector<uint32_t> live, removed;
    std::unordered_set<uint32_t> seen = {node};
    const auto take = [&](std::span<const uint32_t> links) {
      for (const uint32_t to : links) {
        if (seen.insert(to).second) (is_live(to) ? live : removed).push_back(to);
      }
    };
    take(graph_.links_.of(node, level));
    const size_t n_own = removed.size();
    const auto enough = static_cast<size_t>(2 * graph_.links_.most(level));
    for (size_t at = 0; at < std::min(removed.size(), kMostPassed); ++at) {
      if (at >= n_own && live.size() >= enough) break;
      take(graph_.links_.of(removed[at], level));
    }
    return live;
  }

  // The first of the highest level.
  void choose_entry() {
    if (is_live(graph_.entry_)) return;
    uint32_t entry = kNobody;
    for (uint32_t node = 0; node < n_nodes_; ++node) {
      if (!is_live(node)) continue;
      const bool is_higher =
          entry == kNobody || graph_.links_.level_of(node) > graph_.links_.level_of(entry);
      if (is_higher) entry = node;
    }
    const auto held = graph_.gate_.alone();
    graph_.entry_ = entry;
  }

  // Counts children anew, as removed ones count no more.
  void adopt_orphans() {
    Sets sets(static_cast<size_t>(n_nodes_));
    std::vector<uint32_t> orphans;
    uint32_t root = kNobody;
    std::ranges::fill(graph_.n_children_, uint16_t{0});
    for (uint32_t node = 0; node < n_nodes_; ++node) {
      if (!is_live(node)) continue;
      const uint32_t parent = graph_.parents_[node];
      if (parent == kNobody) {
        root = node;
      } else if (is_live(parent)) {
        sets.join(node, parent);
        ++graph_.n_children_[parent];
      } else {
        orphans.push_back(node);
      }
    }
    size_t first = 0;
    if (root == kNobody) {
      root = orphans[first++];
      graph_.parents_[root] = kNobody;
    }
    std::vector<Wanted> wanted;
    RoomInTree room(graph_, root);
    for (size_t i = first; i < orphans.size(); ++i) {
      const uint32_t orphan = orphans[i];
      const uint32_t parent = parent_for(orphan, sets, room);
      graph_.parents_[orphan] = parent;
      ++graph_.n_children_[parent];
      sets.join(orphan, parent);
      const auto links = graph_.links_.of(parent, 0);
      if (std::ranges::find(links, orphan) != links.end()) continue;
      room.add(parent, orphan);
      wanted.push_back({parent, 0, {graph_.distance(parent, orphan), orphan}});
    }
    set(graph_.lists_with(wanted, pool_));
  }

  // Nodes of the root's tree that may have another child, in breadth: those that were full stay so.
  class RoomInTree {
   public:
    RoomInTree(const Hnsw& graph, uint32_t root) : graph_(graph), open_{root} {}
    // The parent has no link to the child yet.
    void add(uint32_t parent, uint32_t child) { adopted_[parent].push_back(child); }
    uint32_t next() {
      while (graph_.n_children_[open_[at_]] >= graph_.most_children()) {
        const uint32_t full = open_[at_++];
        for (const uint32_t to : graph_.links_.of(full, 0)) {
          if (graph_.parents_[to] == full) open_.push_back(to);
        }
        const auto adopted = adopted_.find(full);
        if (adopted == adopted_.end()) continue;
        open_.insert(open_.end(), adopted->second.begin(), adopted->second.end());
      }
      return open_[at_];
    }

   private:
    const Hnsw& graph_;
    std::vector<uint32_t> open_;
    size_t at_ = 0;
    std::unordered_map<uint32_t, std::vector<uint32_t>> adopted_;
  };

  // The nearest that it is linked to, or else any node of the root's tree: none of those hangs on
  // the orphan, which would be a ring.
  uint32_t parent_for(uint32_t orphan, Sets& sets, RoomInTree& room) const {
    for (const uint32_t near : graph_.links_.of(orphan, 0)) {
      const bool is_free = graph_.n_children_[near] < graph_.most_children();
      if (is_free && sets.find(near) != sets.find(orphan)) return near;
    }
    return room.next();
  }

  // No list leads to them any more, so that their rows may be written.
  void free_removed() {
    const auto held = graph_.gate_.alone();
    for (uint32_t node = 0; node < n_nodes_; ++node) {
      if (graph_.states_[node] != State::removed) continue;
      graph_.states_[node] = State::free;
      graph_.parents_[node] = kNobody;
      graph_.free_.push_back(node);
    }
    std::sort(graph_.free_.begin(), graph_.free_.end(), std::greater<>());
    graph_.n_removed_ = 0;
  }

  Hnsw& graph_;
  WorkerPool& pool_;
  int64_t n_nodes_;
};

void Hnsw::repair(WorkerPool& pool) {
  if (n_removed_ == 0) return;
  if (n_live_ > 0) return Repair(*this, pool).run();
  const auto held = gate_.alone();
  for (uint32_t node = 0; node < states_.size(); ++node) {
    if (states_[node] != State::removed) continue;
    states_[node] = State::free;
    free_.push_back(node);
  }
  std::sort(free_.begin(), free_.end(), std::greater<>());
  std::ranges::fill(parents_, kNobody);
  std::ranges::fill(n_children_, uint16_t{0});
  n_removed_ = 0;
  entry_ = kNobody;
}

}  // namespace ruv
