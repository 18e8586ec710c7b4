// ByteRanges: which bytes of a file are here, and which parts of it are to be fetched next.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

namespace ruv {

// From `begin` up to, not including, `end`.
struct ByteRange {
  uint64_t begin = 0;
  uint64_t end = 0;
  uint64_t size() const { return end - begin; }
  bool operator==(const ByteRange&) const = default;
};

// A set of bytes. Ranges that touch become one.
class ByteRanges {
 public:
  // Empty ranges add nothing.
  void add(ByteRange range);
  uint64_t n_bytes() const { return n_bytes_; }
  // Bytes from the first on without a gap.
  uint64_t prefix() const;
  // The gaps below `size`, in order.
  std::vector<ByteRange> missing(uint64_t size) const;
  // All of them, in order.
  std::vector<ByteRange> ranges() const;

 private:
  std::map<uint64_t, uint64_t> ends_;  // by their begins
  uint64_t n_bytes_ = 0;
};

// The gaps below `size` in pieces of at most piece_bytes, in order. Requires: piece_bytes > 0.
std::vector<ByteRange> pieces_of(const ByteRanges& here, uint64_t size, uint64_t piece_bytes);

}  // namespace ruv
