#include "cache/prefix_tree.h"

#include <algorithm>
#include <limits>

#include "base/allocation.h"
#include "base/check.h"
#include "base/hash.h"

namespace ruv {
namespace {

// The depth, in tokens, at which a page costs twice as much to compute as a first page, because
// attention costs as much as the weights. For the 1B shape about 18k by multiplications, less by
// time.
constexpr int64_t kDoubleCostTokens = 8192;
// Hits after which a page's value no longer rises.
constexpr uint8_t kMostHits = 3;
// The number of evicted pages that are remembered. A power of two.
constexpr size_t kEvictedSlots = 4096;

uint64_t path_hash(uint64_t before, std::span<const PrefixCell> block) {
  return hash_bytes(std::as_bytes(block), before);
}

int64_t n_pages_of(std::span<const PrefixCell> text) { return pages_for(std::ssize(text)); }

std::span<const PrefixCell> block_at(std::span<const PrefixCell> text, int64_t page) {
  const auto begin = static_cast<size_t>(page) * kPageTokens;
  return text.subspan(begin, std::min<size_t>(kPageTokens, text.size() - begin));
}

}  // namespace

PrefixTree::PrefixTree(PagePool& pool, const Limits& limits)
    : pool_(pool), limits_(limits), leaves_(limits.max_pages_per_tenant > 0) {
  CHECK(pool.n_cached() == 0 && limits.max_pages >= 0 && limits.max_pages_per_tenant >= 0);
  evicted_.resize(kEvictedSlots);
  nodes_.reserve(static_cast<size_t>(pool.n_pages()) + 1);  // growing would be a pause
}

PrefixTree::~PrefixTree() {
  for (const Node& node : nodes_)
    if (node.page >= 0) pool_.uncache(node.page);
}

// Finding.

std::vector<PrefixTree::NodeId>::const_iterator PrefixTree::place_of(const Node& parent,
                                                                     Block block) const {
  return std::lower_bound(
      parent.children.begin(), parent.children.end(), block,
      [this](NodeId child, Block wanted) { return node(child).block.sorts_before(wanted); });
}

// In sorted order, one of the two neighbours shares the longest prefix with a new text.
PrefixTree::Nearest PrefixTree::nearest(const Node& parent, Block block) const {
  Nearest best;
  const auto place = place_of(parent, block);
  if (place != parent.children.end()) best = {*place, node(*place).block.n_common(block)};
  if (best.n_common < static_cast<int64_t>(block.size()) && place != parent.children.begin()) {
    const Nearest before = {place[-1], node(place[-1]).block.n_common(block)};
    const bool in_memory = node(before.child).page >= 0;
    if (before.n_common + in_memory > best.n_common) best = before;
  }
  return best.n_common > 0 ? best : Nearest{};
}

PrefixTree::Miss PrefixTree::reason(const Node& parent, Block block, const Nearest& found) const {
  if (block.size() == kPageTokens) {
    const uint64_t hash = path_hash(parent.path_hash, block);
    if (evicted_[hash % kEvictedSlots] == hash) return Miss::evicted;
  }
  if (found.child >= 0)
    return found.n_common == node(found.child).n_tokens() ? Miss::unknown : Miss::diverged;
  return parent.is_root() || parent.children.empty() ? Miss::unknown : Miss::diverged;
}

template <class Visit>
PrefixTree::Miss PrefixTree::walk(std::string_view scope, std::span<const PrefixCell> text,
                                  const Visit& visit) const {
  if (text.empty()) return Miss::none;
  const auto entry = scopes_.find(scope);
  if (entry == scopes_.end()) {
    Node empty;
    empty.path_hash = hash_bytes(as_bytes(scope));
    return reason(empty, block_at(text, 0), {});
  }
  NodeId at = entry->second.root;
  for (int64_t page = 0; page < n_pages_of(text); ++page) {
    const Block block = block_at(text, page);
    const Nearest found = nearest(node(at), block);
    if (found.child >= 0) visit(found.child, found.n_common);
    if (found.n_common < static_cast<int64_t>(block.size())) return reason(node(at), block, found);
    at = found.child;
  }
  return Miss::none;
}

void PrefixTree::match(std::string_view scope, std::span<const PrefixCell> text, Match& out) const {
  out.n_tokens = 0;
  out.entries.clear();
  out.miss = walk(scope, text, [&](NodeId child, int64_t n_common) {
    out.entries.push_back({node(child).page, node(child).record});
    out.n_tokens += n_common;
  });
}

void PrefixTree::touch(std::string_view scope, std::span<const PrefixCell> text) {
  ++now_;
  walk(scope, text, [&](NodeId child, int64_t) { refresh(child, true); });
}

TreeLeaf PrefixTree::leaf_of(NodeId id) const {
  const Node& leaf = node(id);
  return {leaf.value, leaf.used, id, leaf.scope->tenant->id};
}

// GreedyDual-Size (Cao and Irani, 1997): the value of a page is the clock at its last use plus its
// cost, and the clock rises to the value of each page evicted, so an unused page loses to newer
// ones sooner the less it costs. Hits count as in GreedyDual-Size-Frequency (Cherkasova, 1998), up
// to a bound.
void PrefixTree::refresh(NodeId id, bool hit) noexcept {
  Node& used = node(id);
  const bool leaf = used.is_leaf();
  const TreeLeaf before = leaf_of(id);
  if (hit && used.n_hits < kMostHits) ++used.n_hits;
  const int64_t cost = kDoubleCostTokens + int64_t{used.n_pages_before} * kPageTokens;
  used.value = clock_ + cost * (1 + used.n_hits);
  used.used = now_;
  if (leaf) leaves_.replace(before, leaf_of(id));
}

// Caching.

PrefixTree::Tenant& PrefixTree::tenant_of(std::string_view name) {
  const auto known = tenants_.find(name);
  if (known != tenants_.end()) return known->second;
  Tenant& tenant = tenants_[std::string(name)];
  tenant.id = n_tenants_ever_++;
  return tenant;
}

PrefixTree::NodeId PrefixTree::root_of(std::string_view name) {
  const auto known = scopes_.find(name);
  if (known != scopes_.end()) return known->second.root;
  const auto entry = scopes_.try_emplace(std::string(name)).first;
  Scope& scope = entry->second;
  scope.name = entry->first;
  Undo undo([&] {
    if (scope.tenant != nullptr && scope.tenant->n_scopes == 0)
      tenants_.erase(tenants_.find(scope.tenant_name()));
    scopes_.erase(entry);
  });
  scope.tenant = &tenant_of(scope.tenant_name());
  scope.root = new_node(-1, {});
  undo.keep();
  ++scope.tenant->n_scopes;
  node(scope.root).scope = &scope;
  node(scope.root).path_hash = hash_bytes(as_bytes(name));
  return scope.root;
}

// A node without page or record, linked to its parent. Throws with nothing changed.
PrefixTree::NodeId PrefixTree::new_node(NodeId parent, Block block) {
  if (parent >= 0 && node(parent).children.size() == node(parent).children.capacity())
    node(parent).children.reserve(std::max<size_t>(1, 2 * node(parent).children.size()));
  if (first_free_ < 0) {
    nodes_.emplace_back();
    first_free_ = static_cast<NodeId>(nodes_.size()) - 1;
  }
  const NodeId id = first_free_;
  Node& made = node(id);
  made.block.assign(block);
  first_free_ = made.parent;
  ++n_nodes_;
  made.parent = parent;
  if (parent < 0) return id;
  Node& above = node(parent);
  made.scope = above.scope;
  made.n_pages_before = above.is_root() ? 0 : above.n_pages_before + 1;
  made.path_hash = path_hash(above.path_hash, block);
  above.children.insert(place_of(above, block), id);
  // The only continuation of a text that is used again is likely to be used again too, as an
  // agent's next turn is.
  if (!above.is_root() && above.children.size() == 1) made.n_hits = above.n_hits;
  refresh(id, false);
  return id;
}

void PrefixTree::remove_node(NodeId id) noexcept {
  Node& gone = node(id);
  CHECK(gone.page < 0 && gone.record < 0 && gone.children.empty() && !gone.unwritten);
  const NodeId parent = gone.parent;
  if (parent >= 0) {
    Node& above = node(parent);
    const PageCells cells = gone.block.cells();
    const Block block = Block(cells).first(static_cast<size_t>(gone.n_tokens()));
    above.children.erase(place_of(above, block));
  }
  gone = Node();
  gone.parent = first_free_;
  first_free_ = id;
  --n_nodes_;
  if (parent >= 0) remove_scope_if_empty(parent);
}

void PrefixTree::remove_scope_if_empty(NodeId root) noexcept {
  if (root == kept_root_ || !node(root).is_root() || !node(root).children.empty()) return;
  Scope& scope = *node(root).scope;
  if (--scope.tenant->n_scopes == 0) tenants_.erase(tenants_.find(scope.tenant_name()));
  scopes_.erase(scopes_.find(scope.name));
  remove_node(root);
}

// The tree becomes a holder of `page`, for a node that has none. Throws with nothing changed.
void PrefixTree::attach_page(NodeId id, PageId page) {
  Node& kept = node(id);
  Node& above = node(kept.parent);
  CHECK(kept.page < 0 && (above.is_root() || above.page >= 0));
  if (above.is_leaf()) {
    leaves_.replace(leaf_of(kept.parent), leaf_of(id));
  } else {
    leaves_.add(leaf_of(id));
  }
  pool_.cache(page);
  kept.page = page;
  ++above.n_children_in_memory;
  ++kept.scope->tenant->n_pages;
  n_memory_tokens_ += kept.n_tokens();
  update_unwritten(id);
}

// Evicts a leaf's page, and removes the node if it is not on disk either.
void PrefixTree::drop_page(NodeId id) noexcept {
  Node& kept = node(id);
  Node& above = node(kept.parent);
  CHECK(kept.is_leaf());
  const TreeLeaf leaf = leaf_of(id);
  --above.n_children_in_memory;
  if (above.is_leaf()) {
    leaves_.replace(leaf, leaf_of(kept.parent));
  } else {
    leaves_.remove(leaf);
  }
  pool_.uncache(kept.page);
  kept.page = -1;
  --kept.scope->tenant->n_pages;
  n_memory_tokens_ -= kept.n_tokens();
  update_unwritten(id);
  if (kept.record >= 0) return;
  if (kept.n_tokens() == kPageTokens) evicted_[kept.path_hash % kEvictedSlots] = kept.path_hash;
  remove_node(id);
}

bool PrefixTree::make_room() {
  return limits_.max_pages == 0 || pool_.n_cached() < limits_.max_pages || evict(1) == 1;
}

// An equal page exists as a node: the tree's page replaces the caller's, or the caller's becomes
// the tree's. False when there is no room for it.
bool PrefixTree::keep_in(NodeId id, PageId& page) {
  Node& known = node(id);
  if (known.page < 0) {
    if (!make_room()) return false;
    attach_page(id, page);
  } else if (known.page != page) {
    pool_.exchange(page, known.page);
  }
  refresh(id, false);
  return true;
}

// Whether the caller's page has a frame and the equal, not full page of the tree has lost its own.
bool PrefixTree::is_worth_more(NodeId id, Block block, PageId page) const {
  const Node& known = node(id);
  return known.n_tokens() == static_cast<int64_t>(block.size()) && known.page >= 0 &&
         std::ranges::any_of(pool_.frames(), [&](const PageFrames& group) {
           return group.has(page) && !group.has(known.page);
         });
}

// Replaces a page that is not full by one with the same beginning and at least as many tokens. The
// node keeps its position: no sibling sorts between the two, since the shorter would be its prefix.
void PrefixTree::grow(NodeId id, Block block, PageId page) {
  Node& known = node(id);
  CHECK(known.page >= 0 && known.record < 0 && known.children.empty());
  const int64_t n_before = known.n_tokens();
  known.block.assign(block);
  n_memory_tokens_ += known.n_tokens() - n_before;
  if (known.page != page) {
    pool_.cache(page);
    pool_.uncache(known.page);
    known.page = page;
  }
  known.path_hash = path_hash(node(known.parent).path_hash, block);
  refresh(id, false);
  update_unwritten(id);
}

// Caches one page after `parent`; -1: no page can follow it.
PrefixTree::NodeId PrefixTree::keep(NodeId parent, Block block, PageId& page) {
  const Nearest known = nearest(node(parent), block);
  if (known.child >= 0 && known.n_common == static_cast<int64_t>(block.size())) {
    if (block.size() == kPageTokens) return keep_in(known.child, page) ? known.child : -1;
    if (is_worth_more(known.child, block, page)) {
      grow(known.child, block, page);
      return -1;
    }
    refresh(known.child, false);  // the same beginning or more is there; its owner may write on
    return -1;
  }
  if (known.child >= 0 && known.n_common == node(known.child).n_tokens()) {
    grow(known.child, block, page);
    return known.child;
  }
  if (!make_room()) return -1;
  const NodeId id = new_node(parent, block);
  Undo undo([&] { remove_node(id); });
  attach_page(id, page);
  undo.keep();
  return id;
}

void PrefixTree::insert(std::string_view scope, std::span<const PrefixCell> text,
                        std::span<PageId> pages, bool keep_partial) {
  const auto n_kept = static_cast<int64_t>(
      keep_partial ? n_pages_of(text) : static_cast<int64_t>(text.size()) / kPageTokens);
  CHECK(static_cast<int64_t>(pages.size()) >= n_kept);
  if (n_kept == 0) return;
  ++now_;
  NodeId at = root_of(scope);
  const KeptRoot root(*this, at);
  for (int64_t page = 0; page < n_kept && at >= 0; ++page)
    at = keep(at, block_at(text, page), pages[static_cast<size_t>(page)]);
}

// Evicting.

int64_t PrefixTree::evict(int64_t n) {
  int64_t went = 0;
  if (leaves_.by_tenant()) {
    for (const auto& [name, tenant] : tenants_) {
      const int64_t above = tenant.n_pages - limits_.max_pages_per_tenant;
      // It keeps a page at least: `tenants_` stays as it is.
      if (above > 0) went += evict_leaves(std::min(above, n - went), tenant.id);
    }
  }
  return went + evict_leaves(n - went, -1);
}

int64_t PrefixTree::evict_leaves(int64_t n, int64_t tenant) noexcept {
  int64_t went = 0;
  TreeLeaf at = {std::numeric_limits<int64_t>::min(), 0, 0, 0};
  while (went < n) {
    const auto leaf = leaves_.after(at, tenant);
    if (!leaf) break;
    at = *leaf;
    if (pool_.references(node(at.node).page) > 1) continue;
    const NodeId parent = node(at.node).parent;
    if (tenant < 0) clock_ = std::max(clock_, at.value);
    drop_page(at.node);
    ++went;
    if (node(parent).is_leaf() && leaf_of(parent) < at) {
      at = leaf_of(parent);
      --at.node;  // so that it is the next one
    }
  }
  n_evicted_ += went;
  return went;
}

PrefixTree::Stats PrefixTree::stats() const {
  Stats all;
  all.evicted_pages = n_evicted_;
  const auto n_scopes = static_cast<int64_t>(scopes_.size());
  all.memory_pages = pool_.n_cached();
  all.memory_tokens = n_memory_tokens_;
  all.disk_pages = static_cast<int64_t>(records_.size());
  all.known_tokens = n_memory_tokens_ + (n_nodes_ - n_scopes - all.memory_pages) * kPageTokens;
  all.scopes = n_scopes;
  // What the standard library takes for the element of a set or map, and for a small vector.
  constexpr int64_t kSetElement = 32 + 16, kMapElement = 48, kSmallVector = 32, kScope = 256;
  const int64_t leaf_bytes = int64_t{sizeof(TreeLeaf)} + kSetElement;
  all.index_bytes = static_cast<int64_t>(nodes_.size() * sizeof(Node)) + n_nodes_ * kSmallVector +
                    leaves_.size() * leaf_bytes * (leaves_.by_tenant() ? 2 : 1) +
                    all.disk_pages * kMapElement + n_scopes * kScope +
                    static_cast<int64_t>(evicted_.size() * sizeof(uint64_t));
  return all;
}

int64_t PrefixTree::tenant_pages(std::string_view tenant) const {
  const auto known = tenants_.find(tenant);
  return known == tenants_.end() ? 0 : known->second.n_pages;
}

}  // namespace ruv
