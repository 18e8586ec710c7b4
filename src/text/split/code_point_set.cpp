#include "text/split/code_point_set.h"

#include <algorithm>

namespace ruv {

// Sorts and joins ranges that overlap or touch.
CodePointSet::CodePointSet(std::vector<CodePointRange> ranges) : ranges_(std::move(ranges)) {
  std::sort(ranges_.begin(), ranges_.end(),
            [](const CodePointRange& a, const CodePointRange& b) { return a.first < b.first; });
  size_t n = 0;
  for (const CodePointRange& range : ranges_) {
    if (n > 0 && range.first <= ranges_[n - 1].last + 1) {
      ranges_[n - 1].last = std::max(ranges_[n - 1].last, range.last);
    } else {
      ranges_[n++] = range;
    }
  }
  ranges_.resize(n);
}

uint32_t CodePointSet::size() const {
  uint32_t n = 0;
  for (const CodePointRange& range : ranges_) n += range.last - range.first + 1;
  return n;
}

bool CodePointSet::contains(uint32_t c) const {
  const auto after =
      std::upper_bound(ranges_.begin(), ranges_.end(), c,
                       [](uint32_t value, const CodePointRange& r) { return value < r.first; });
  return after != ranges_.begin() && c <= (after - 1)->last;
}

CodePointSet operator|(const CodePointSet& a, const CodePointSet& b) {
  std::vector<CodePointRange> all(a.ranges_);
  all.insert(all.end(), b.ranges_.begin(), b.ranges_.end());
  return CodePointSet(std::move(all));
}

// Walks both lists of ranges at once.
CodePointSet operator&(const CodePointSet& a, const CodePointSet& b) {
  CodePointSet both;
  for (size_t i = 0, j = 0; i < a.ranges_.size() && j < b.ranges_.size();) {
    const CodePointRange& x = a.ranges_[i];
    const CodePointRange& y = b.ranges_[j];
    const CodePointRange shared{std::max(x.first, y.first), std::min(x.last, y.last)};
    if (shared.first <= shared.last) both.ranges_.push_back(shared);
    if (x.last < y.last) {
      ++i;
    } else {
      ++j;
    }
  }
  return both;
}

CodePointSet CodePointSet::operator~() const {
  CodePointSet rest;
  uint32_t next = 0;
  for (const CodePointRange& range : ranges_) {
    if (range.first > next) rest.ranges_.push_back({next, range.first - 1});
    next = range.last + 1;
  }
  if (next <= kLastCodePoint) rest.ranges_.push_back({next, kLastCodePoint});
  return rest;
}

}  // namespace ruv
