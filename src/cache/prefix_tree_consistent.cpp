// PrefixTree::consistent: checks every claim of the tree the slow way.
#include <algorithm>

#include "base/bytes.h"
#include "base/hash.h"
#include "cache/prefix_tree.h"

namespace ruv {
namespace {

std::vector<PrefixCell> cells_of(const CellBlock& block) {
  const PageCells cells = block.cells();
  return {cells.begin(), cells.begin() + block.size()};
}

// Siblings are sorted, and none is the beginning of another.
bool may_follow(const std::vector<PrefixCell>& before, const std::vector<PrefixCell>& after) {
  return before < after && std::ranges::mismatch(before, after).in1 != before.end();
}

}  // namespace

bool PrefixTree::consistent() const {
  int64_t n_used = 0, n_pages = 0, n_leaves = 0, n_records = 0, n_tokens = 0, n_roots = 0;
  std::vector<bool> seen(static_cast<size_t>(pool_.n_pages()), false);
  std::unordered_map<const Tenant*, Tenant> tenants;
  for (NodeId id = 0; id < static_cast<NodeId>(nodes_.size()); ++id) {
    const Node& at = node(id);
    if (at.scope == nullptr) continue;
    if (!consistent(id)) return false;
    ++n_used;
    n_roots += at.is_root();
    tenants[at.scope->tenant].n_scopes += at.is_root();
    n_leaves += at.is_leaf();
    n_records += at.record >= 0;
    if (at.page < 0) continue;
    if (seen[static_cast<size_t>(at.page)] || !pool_.cached(at.page)) return false;
    seen[static_cast<size_t>(at.page)] = true;
    ++n_pages;
    ++tenants[at.scope->tenant].n_pages;
    n_tokens += at.n_tokens();
  }
  for (const auto& [tenant, counted] : tenants)
    if (tenant->n_pages != counted.n_pages || tenant->n_scopes != counted.n_scopes) return false;
  return n_used == n_nodes_ && n_pages == pool_.n_cached() && n_leaves == leaves_.size() &&
         n_records == static_cast<int64_t>(records_.size()) && n_tokens == n_memory_tokens_ &&
         n_roots == static_cast<int64_t>(scopes_.size()) && tenants.size() == tenants_.size() &&
         kept_root_ < 0 && consistent_lists();
}

// One node against its parent and its children.
bool PrefixTree::consistent(NodeId id) const {
  const Node& at = node(id);
  int32_t n_in_memory = 0;
  for (size_t i = 0; i < at.children.size(); ++i) {
    const Node& child = node(at.children[i]);
    if (child.parent != id || child.scope != at.scope || child.n_tokens() == 0) return false;
    n_in_memory += child.page >= 0;
    if (i == 0) continue;
    if (!may_follow(cells_of(node(at.children[i - 1]).block), cells_of(child.block))) return false;
  }
  if (n_in_memory != at.n_children_in_memory) return false;
  if (at.is_root()) {
    return at.page < 0 && at.record < 0 && at.parent < 0 && !at.children.empty() &&
           at.scope->root == id && at.path_hash == hash_bytes(as_bytes(at.scope->name));
  }
  const Node& above = node(at.parent);
  const bool full = at.n_tokens() == kPageTokens;
  const bool to_write =
      at.page >= 0 && at.record < 0 && full && (above.is_root() || above.record >= 0);
  if ((at.page < 0 && at.record < 0) || (!full && (at.record >= 0 || !at.children.empty())))
    return false;
  // Memory and disk each contain all pages before a page they contain; a holder of a page holds
  // those before it.
  if (!above.is_root()) {
    if ((at.page >= 0 && above.page < 0) || (at.record >= 0 && above.record < 0)) return false;
    if (at.page >= 0 && pool_.references(at.page) > 1 && pool_.references(above.page) == 1)
      return false;
  }
  if (at.n_pages_before != (above.is_root() ? 0 : above.n_pages_before + 1)) return false;
  const std::vector<PrefixCell> cells = cells_of(at.block);
  if (at.path_hash != hash_bytes(std::as_bytes(std::span(cells)), above.path_hash)) return false;
  if (at.record >= 0) {
    const auto entry = records_.find(at.record);
    if (entry == records_.end() || entry->second != id) return false;
  }
  return at.unwritten == to_write && leaves_.contains(leaf_of(id)) == at.is_leaf();
}

// The lists through the nodes: what is to be written, what is free.
bool PrefixTree::consistent_lists() const {
  int64_t n_listed = 0, n_unwritten = 0, n_free = 0;
  NodeId last = -1;
  for (NodeId id = first_unwritten_; id >= 0; id = node(id).next_unwritten) {
    if (!node(id).unwritten || node(id).previous_unwritten != last) return false;
    last = id;
    ++n_listed;
  }
  for (const Node& at : nodes_) n_unwritten += at.unwritten;
  for (NodeId id = first_free_; id >= 0; id = node(id).parent) {
    if (node(id).scope != nullptr || node(id).page >= 0) return false;
    ++n_free;
  }
  return last == last_unwritten_ && n_listed == n_unwritten &&
         n_free + n_nodes_ == static_cast<int64_t>(nodes_.size());
}

}  // namespace ruv
