// Code points are cut into intervals at every border of every set; each set then splits the classes
// of the intervals that it cuts.
#include "text/split/symbol_alphabet.h"

#include <algorithm>
#include <bit>

namespace ruv {

Result<SymbolAlphabet> SymbolAlphabet::create(std::span<const CodePointSet* const> sets) {
  SymbolAlphabet made;
  std::vector<Interval> intervals = intervals_of(sets);
  for (const CodePointSet* set : sets) {
    made.refine(intervals, *set);
    if (made.n_symbols() > kMaxSymbols) {
      return fail(Code::unsupported, "the patterns tell apart more than {} classes of characters",
                  kMaxSymbols - 1);
    }
  }
  made.fill_table(intervals);
  for (const CodePointSet* set : sets) {
    SymbolSet symbols;
    for (const CodePointRange& range : set->ranges()) {
      auto at = std::lower_bound(intervals.begin(), intervals.end(), range.first,
                                 [](const Interval& i, uint32_t first) { return i.first < first; });
      for (; at != intervals.end() && at->first <= range.last; ++at) symbols.add(at->class_id);
    }
    made.symbols_.push_back(symbols);
  }
  return made;
}

// Sorts borders by setting a bit per code point, which is faster than comparing them.
std::vector<SymbolAlphabet::Interval> SymbolAlphabet::intervals_of(
    std::span<const CodePointSet* const> sets) {
  std::vector<uint64_t> borders(kLastCodePoint / 64 + 1);
  const auto mark = [&](uint32_t c) { borders[c / 64] |= uint64_t{1} << (c % 64); };
  mark(0);
  for (const CodePointSet* set : sets) {
    for (const CodePointRange& range : set->ranges()) {
      mark(range.first);
      if (range.last < kLastCodePoint) mark(range.last + 1);
    }
  }
  std::vector<Interval> intervals;
  for (uint32_t i = 0; i < borders.size(); ++i) {
    for (uint64_t bits = borders[i]; bits != 0; bits &= bits - 1) {
      intervals.push_back({i * 64 + static_cast<uint32_t>(std::countr_zero(bits)), 0});
    }
  }
  return intervals;
}

// A class with intervals both inside and outside the set becomes two. New numbers are assigned in
// order of first use, so they stay dense.
void SymbolAlphabet::refine(std::vector<Interval>& intervals, const CodePointSet& set) {
  constexpr uint32_t kNone = UINT32_MAX;
  std::vector<std::array<uint32_t, 2>> renamed(n_classes_, {kNone, kNone});
  uint32_t n = 0;
  const auto ranges = set.ranges();
  size_t at = 0;
  for (Interval& interval : intervals) {
    while (at < ranges.size() && ranges[at].last < interval.first) ++at;
    const bool inside = at < ranges.size() && ranges[at].first <= interval.first;
    uint32_t& name = renamed[interval.class_id][inside ? 1 : 0];
    if (name == kNone) name = n++;
    interval.class_id = name;
  }
  n_classes_ = n;
}

// Blocks of 128 code points of one class, which is most of them, share one block of the table.
void SymbolAlphabet::fill_table(std::span<const Interval> intervals) {
  constexpr uint32_t kNone = UINT32_MAX;
  std::vector<uint32_t> uniform(n_classes_, kNone);
  const auto end_of = [&](size_t i) {
    return i + 1 < intervals.size() ? intervals[i + 1].first : kLastCodePoint + 1;
  };
  size_t i = 0;
  for (uint32_t first = 0; first <= kLastCodePoint; first += kBlock) {
    while (end_of(i) <= first) ++i;
    const auto begin = static_cast<uint32_t>(classes_.size());
    if (end_of(i) >= first + kBlock) {
      uint32_t& known = uniform[intervals[i].class_id];
      if (known == kNone) {
        known = begin;
        classes_.resize(begin + kBlock, static_cast<uint8_t>(intervals[i].class_id));
      }
      blocks_.push_back(known);
      continue;
    }
    blocks_.push_back(begin);
    classes_.resize(begin + kBlock);
    for (uint32_t c = first; c < first + kBlock; ++c) {
      if (c == end_of(i)) ++i;
      classes_[begin + c - first] = static_cast<uint8_t>(intervals[i].class_id);
    }
  }
  std::copy_n(classes_.begin() + blocks_[0], ascii_.size(), ascii_.begin());
}

}  // namespace ruv
