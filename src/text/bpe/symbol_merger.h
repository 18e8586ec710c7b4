// Byte-pair merging by definition: the neighbouring pair of lowest rank becomes one symbol, the
// leftmost among equals, until no pair merges. Words below kLongWord symbols scan an array, O(n²)
// but with a small constant; longer ones use a linked list and a heap, O(n log n), so that a
// megabyte without a space stays fast.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "text/token_index.h"

namespace ruv {

// Bytes [begin, end) of a word. id -1: no token has this text.
struct Symbol {
  uint32_t begin = 0;
  uint32_t end = 0;
  Token id = -1;
};

inline constexpr uint32_t kNoMerge = UINT32_MAX;
struct Merge {
  uint32_t rank = kNoMerge;  // lower merges first
  Token id = -1;             // of the merged symbol
};

// Merges words; keeps its buffers between them. Not thread-safe: one per call of encode.
class SymbolMerger {
 public:
  // Words of this many symbols and more use the heap.
  static constexpr size_t kLongWord = 64;

  // Merges `symbols` in place. `lookup(left, right)` gives the Merge of two neighbours.
  template <class Lookup>
  void merge(std::vector<Symbol>& symbols, const Lookup& lookup) {
    if (symbols.size() < kLongWord) {
      merge_short(symbols, lookup);
    } else {
      merge_long(symbols, lookup);
    }
  }

  template <class Lookup>
  // Both are public for tests, which compare them. merge_short keeps the merge of every
  // neighbouring pair in an array and searches it for the lowest rank after each merge.
  void merge_short(std::vector<Symbol>& symbols, const Lookup& lookup);
  template <class Lookup>
  // merge_long keeps the pairs in a heap and the symbols in a linked list.
  void merge_long(std::vector<Symbol>& symbols, const Lookup& lookup);

 private:
  // A possible merge in the heap. Entries are not removed when a neighbour changes; they are
  // recognised as stale when popped, because `end` no longer matches.
  struct Candidate {
    uint32_t rank;
    uint32_t left;  // index of the left symbol
    uint32_t end;   // of the right symbol: symbols only grow, so it tells when either changed
    Token id;
    // Order for a heap whose top is the lowest rank, then the leftmost.
    bool operator<(const Candidate& other) const {
      return rank != other.rank ? rank > other.rank : left > other.left;
    }
  };
  // The linked list of symbols that are left, by index.
  struct Links {
    uint32_t previous;
    uint32_t next;  // n when there is none
  };

  std::vector<Merge> pairs_;
  std::vector<Candidate> heap_;
  std::vector<Links> links_;
};

template <class Lookup>
void SymbolMerger::merge_short(std::vector<Symbol>& symbols, const Lookup& lookup) {
  if (symbols.size() < 2) return;
  pairs_.clear();
  for (size_t i = 0; i + 1 < symbols.size(); ++i) {
    pairs_.push_back(lookup(symbols[i], symbols[i + 1]));
  }
  while (!pairs_.empty()) {
    const auto best =
        std::min_element(pairs_.begin(), pairs_.end(),
                         [](const Merge& a, const Merge& b) { return a.rank < b.rank; });
    if (best->rank == kNoMerge) break;
    const auto i = static_cast<size_t>(best - pairs_.begin());
    symbols[i].end = symbols[i + 1].end;
    symbols[i].id = best->id;
    symbols.erase(symbols.begin() + static_cast<std::ptrdiff_t>(i) + 1);
    pairs_.erase(best);
    if (i > 0) pairs_[i - 1] = lookup(symbols[i - 1], symbols[i]);
    if (i < pairs_.size()) pairs_[i] = lookup(symbols[i], symbols[i + 1]);
  }
}

template <class Lookup>
void SymbolMerger::merge_long(std::vector<Symbol>& symbols, const Lookup& lookup) {
  const auto n = static_cast<uint32_t>(symbols.size());
  links_.resize(n);
  heap_.clear();
  // A new pair for the heap.
  const auto candidate = [&](uint32_t left, uint32_t right) {
    const Merge merge = lookup(symbols[left], symbols[right]);
    return Candidate{merge.rank, left, symbols[right].end, merge.id};
  };
  for (uint32_t i = 0; i < n; ++i) links_[i] = {i - 1, i + 1};
  for (uint32_t i = 0; i + 1 < n; ++i) {
    const Candidate found = candidate(i, i + 1);
    if (found.rank != kNoMerge) heap_.push_back(found);
  }
  std::make_heap(heap_.begin(), heap_.end());
  const auto offer = [&](uint32_t left, uint32_t right) {
    const Candidate found = candidate(left, right);
    if (found.rank == kNoMerge) return;
    heap_.push_back(found);
    std::push_heap(heap_.begin(), heap_.end());
  };
  // A symbol merged into its left neighbour is empty: begin == end.
  while (!heap_.empty()) {
    std::pop_heap(heap_.begin(), heap_.end());
    const Candidate top = heap_.back();
    heap_.pop_back();
    Symbol& left = symbols[top.left];
    const uint32_t right = links_[top.left].next;
    if (left.begin == left.end || right == n || symbols[right].end != top.end) continue;
    left.end = symbols[right].end;
    left.id = top.id;
    symbols[right].end = symbols[right].begin;
    const uint32_t next = links_[right].next;
    // The right symbol leaves the list; both new neighbours of the merged symbol become candidates.
    links_[top.left].next = next;
    if (next != n) links_[next].previous = top.left;
    if (top.left != 0) offer(links_[top.left].previous, top.left);
    if (next != n) offer(top.left, next);
  }
  std::erase_if(symbols, [](const Symbol& s) { return s.begin == s.end; });
}

}  // namespace ruv
