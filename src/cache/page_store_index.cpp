#include "cache/page_store_index.h"

#include <algorithm>

namespace ruv {

RecordIndex::RecordIndex() { entries_.emplace(kNone, Entry{}); }

const RecordIndex::Entry* RecordIndex::find(int64_t id) const {
  const auto found = entries_.find(id);
  return found == entries_.end() ? nullptr : &found->second;
}

// Links the record as its parent's first child; first pages are children of an entry of their own.
bool RecordIndex::insert(int64_t id, int64_t parent, const PrefixHash& prefix, Place place) {
  const auto above = entries_.find(parent);
  if (id == kNone || above == entries_.end()) return false;
  const int64_t sibling = above->second.first_child;
  const Entry entry{.prefix = prefix, .place = place, .parent = parent, .next = sibling};
  if (!entries_.emplace(id, entry).second) return false;
  at(parent).first_child = id;
  if (sibling != kNone) at(sibling).previous = id;
  return true;
}

void RecordIndex::move(int64_t id, Place place) {
  const auto found = entries_.find(id);
  if (found != entries_.end()) found->second.place = place;
}

void RecordIndex::touch(int64_t id, uint64_t tick) {
  while (id != kNone) {
    const auto found = entries_.find(id);
    if (found == entries_.end() || found->second.used >= tick) return;
    found->second.used = tick;
    id = found->second.parent;
  }
}

void RecordIndex::unlink(int64_t id, const Entry& entry) {
  if (entry.next != kNone) at(entry.next).previous = entry.previous;
  if (entry.previous != kNone) {
    at(entry.previous).next = entry.next;
  } else if (at(entry.parent).first_child == id) {
    at(entry.parent).first_child = entry.next;
  }
}

// Walks the subtree with `removed` itself as the queue, so depth does not matter.
void RecordIndex::remove(int64_t id, std::vector<int64_t>& removed) {
  const auto found = entries_.find(id);
  if (id == kNone || found == entries_.end()) return;
  unlink(id, found->second);
  size_t next = removed.size();
  removed.push_back(id);
  for (; next < removed.size(); ++next) {
    const auto going = entries_.find(removed[next]);
    for (int64_t child = going->second.first_child; child != kNone; child = at(child).next) {
      removed.push_back(child);
    }
    entries_.erase(going);
  }
}

// Breadth first from the first pages.
std::vector<RecordIndex::Item> RecordIndex::parents_first() const {
  std::vector<Item> items;
  items.reserve(entries_.size());
  const auto add_children = [&](int64_t parent) {
    for (int64_t id = find(parent)->first_child; id != kNone; id = find(id)->next) {
      items.push_back({id, parent, find(id)->prefix, find(id)->place});
    }
  };
  add_children(kNone);
  for (size_t i = 0; i < items.size(); ++i) add_children(items[i].id);
  return items;
}

// Sorts the ticks of all records; O(n log n), called when a segment has to be chosen.
RecordIndex::Uses RecordIndex::uses() const {
  std::vector<uint64_t> ticks;
  ticks.reserve(entries_.size());
  for (const auto& [id, entry] : entries_) {
    if (id != kNone) ticks.push_back(entry.used);
  }
  if (ticks.empty()) return {};
  const auto middle = ticks.begin() + static_cast<std::ptrdiff_t>(ticks.size() / 2);
  std::nth_element(ticks.begin(), middle, ticks.end());
  return {*std::min_element(ticks.begin(), middle + 1), *middle};
}

}  // namespace ruv
