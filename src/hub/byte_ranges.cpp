// A map from begins to ends, in which no two ranges touch.
#include "hub/byte_ranges.h"

#include <algorithm>
#include <iterator>

namespace ruv {

// A range that begins before this one and touches it is where the joining starts.
void ByteRanges::add(ByteRange range) {
  if (range.begin >= range.end) return;
  auto next = ends_.upper_bound(range.begin);
  if (next != ends_.begin() && std::prev(next)->second >= range.begin) --next;
  while (next != ends_.end() && next->first <= range.end) {
    range.begin = std::min(range.begin, next->first);
    range.end = std::max(range.end, next->second);
    n_bytes_ -= next->second - next->first;
    next = ends_.erase(next);
  }
  ends_.emplace(range.begin, range.end);
  n_bytes_ += range.size();
}

uint64_t ByteRanges::prefix() const {
  const bool has_first = !ends_.empty() && ends_.begin()->first == 0;
  return has_first ? ends_.begin()->second : 0;
}

std::vector<ByteRange> ByteRanges::ranges() const {
  std::vector<ByteRange> all;
  for (const auto& [begin, end] : ends_) all.push_back({begin, end});
  return all;
}

// Ranges beyond `size` do not matter.
std::vector<ByteRange> ByteRanges::missing(uint64_t size) const {
  std::vector<ByteRange> gaps;
  uint64_t at = 0;
  for (const auto& [begin, end] : ends_) {
    if (begin >= size) break;
    if (begin > at) gaps.push_back({at, begin});
    at = end;
  }
  if (at < size) gaps.push_back({at, size});
  return gaps;
}

std::vector<ByteRange> pieces_of(const ByteRanges& here, uint64_t size, uint64_t piece_bytes) {
  std::vector<ByteRange> pieces;
  for (const ByteRange& gap : here.missing(size)) {
    for (uint64_t at = gap.begin; at < gap.end;) {
      // at + piece_bytes could exceed 64 bits.
      const uint64_t end = gap.end - at > piece_bytes ? at + piece_bytes : gap.end;
      pieces.push_back({at, end});
      at = end;
    }
  }
  return pieces;
}

}  // namespace ruv
