// PrefixTree's side of the disk tier: which pages are to be written and which records are known.
// The tree's records are those that a restart finds: each has the records of all pages before it.
#include "base/allocation.h"
#include "base/check.h"
#include "cache/prefix_tree.h"

namespace ruv {

// Adds the node to the list of pages to write, or removes it, according to its state.
void PrefixTree::update_unwritten(NodeId id) noexcept {
  Node& page = node(id);
  const bool wanted = page.page >= 0 && page.record < 0 && page.n_tokens() == kPageTokens &&
                      (node(page.parent).is_root() || node(page.parent).record >= 0);
  if (wanted == page.unwritten) return;
  page.unwritten = wanted;
  if (wanted) {
    page.previous_unwritten = last_unwritten_;
    page.next_unwritten = -1;
    (last_unwritten_ >= 0 ? node(last_unwritten_).next_unwritten : first_unwritten_) = id;
    last_unwritten_ = id;
    return;
  }
  const NodeId next = page.next_unwritten, previous = page.previous_unwritten;
  (previous >= 0 ? node(previous).next_unwritten : first_unwritten_) = next;
  (next >= 0 ? node(next).previous_unwritten : last_unwritten_) = previous;
}

void PrefixTree::next_unwritten(int64_t n, WriteBatch& out) const {
  out.pages.clear();
  out.held.clear();
  std::vector<NodeId> ids;  // of out.pages
  const auto add = [&](NodeId id, int64_t parent) {
    const Node& page = node(id);
    Unwritten& next = out.pages.emplace_back();
    ids.push_back(id);
    next.page = page.page;
    next.parent = parent;
    next.cells = page.block.cells();
    if (parent < 0) next.parent_record = node(page.parent).record;
    if (node(page.parent).is_root()) next.scope = page.scope->name;
    out.held.push_back(page.page);
  };
  const auto full = [&] { return static_cast<int64_t>(ids.size()) >= n; };
  for (NodeId first = first_unwritten_; first >= 0 && !full(); first = node(first).next_unwritten) {
    const size_t begin = ids.size();
    add(first, -1);
    for (NodeId up = node(first).parent; node(up).page >= 0; up = node(up).parent)
      out.held.push_back(node(up).page);
    for (size_t i = begin; i < ids.size() && !full(); ++i) {
      for (const NodeId child : node(ids[i]).children) {
        if (full()) break;
        if (node(child).page >= 0 && node(child).n_tokens() == kPageTokens)
          add(child, static_cast<int64_t>(i));
      }
    }
  }
}

void PrefixTree::set_record(NodeId id, int64_t record) noexcept {
  node(id).record = record;
  update_unwritten(id);
  for (const NodeId child : node(id).children) update_unwritten(child);
}

bool PrefixTree::add_record(std::string_view scope, int64_t parent,
                            std::span<const PrefixCell> cells, int64_t record) {
  CHECK(cells.size() == kPageTokens && record >= 0);
  const auto above = records_.find(parent);
  if ((parent >= 0 && above == records_.end()) || records_.contains(record)) return false;
  NodeId at = parent >= 0 ? above->second : root_of(scope);
  const KeptRoot root(*this, parent >= 0 ? node(at).scope->root : at);
  const Nearest known = nearest(node(at), cells);
  const bool same = known.n_common == kPageTokens;
  if (same && node(known.child).record >= 0) return false;
  const auto entry = records_.try_emplace(record, known.child).first;
  if (!same) {
    Undo undo([&, entry = entry] { records_.erase(entry); });
    entry->second = new_node(at, cells);
    undo.keep();
    // A page that was not full, with a beginning of these cells: a full one on disk is more.
    if (known.child >= 0 && known.n_common == node(known.child).n_tokens()) drop_page(known.child);
  }
  set_record(entry->second, record);
  return true;
}

void PrefixTree::forget_record(int64_t record) {
  const auto first = records_.find(record);
  if (first == records_.end()) return;
  std::vector<NodeId> ids = {first->second};  // all with records from here on, parents first
  for (size_t i = 0; i < ids.size(); ++i)
    for (const NodeId child : node(ids[i]).children)
      if (node(child).record >= 0) ids.push_back(child);
  for (auto id = ids.rbegin(); id != ids.rend(); ++id) {
    records_.erase(node(*id).record);
    set_record(*id, -1);
    if (node(*id).page < 0) remove_node(*id);
  }
}

}  // namespace ruv
