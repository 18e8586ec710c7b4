// CodePointSet: a set of Unicode code points as sorted intervals. Union, intersection and
// complement take time linear in the intervals (union sorts them first).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace ruv {

inline constexpr uint32_t kLastCodePoint = 0x10FFFF;

// Both ends belong to it.
struct CodePointRange {
  uint32_t first = 0;
  uint32_t last = 0;
  bool operator==(const CodePointRange&) const = default;
};

class CodePointSet {
 public:
  CodePointSet() = default;
  // In any order, overlaps allowed. Requires: first <= last <= kLastCodePoint in each.
  explicit CodePointSet(std::vector<CodePointRange> ranges);
  static CodePointSet of(uint32_t first, uint32_t last) {
    return CodePointSet(std::vector{CodePointRange{first, last}});
  }

  // Ascending, apart from each other by at least one code point.
  std::span<const CodePointRange> ranges() const { return ranges_; }
  bool empty() const { return ranges_.empty(); }
  // The number of code points.
  uint32_t size() const;
  bool contains(uint32_t code_point) const;
  bool operator==(const CodePointSet&) const = default;

  friend CodePointSet operator|(const CodePointSet& a, const CodePointSet& b);
  friend CodePointSet operator&(const CodePointSet& a, const CodePointSet& b);
  CodePointSet operator~() const;

 private:
  std::vector<CodePointRange> ranges_;
};

}  // namespace ruv
