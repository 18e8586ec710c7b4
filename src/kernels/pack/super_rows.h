// Packing rows of super-blocks of 256 numbers. A format F gives Layout, kBytes of a super-block in
// the file, read(block, header, codes) and put(codes of 32, vectors).
#pragma once

#include "kernels/pack/layout.h"
#include "kernels/pack/planes.h"
#include "tensor/half.h"

namespace ruv {

// The codes of a super-block, a byte each.
using Codes = BlockCodes[8];

inline uint8_t u8(std::byte b) { return static_cast<uint8_t>(b); }

inline uint16_t u16_at(const std::byte* p) {
  uint16_t v;
  std::memcpy(&v, p, 2);
  return v;
}

// A lane of the header: rows of kLanes bytes after a first vector with the block's own scales.
template <int kLanes>
struct Header {
  std::byte* first;
  int lane;

  void halves(const std::byte* d, const std::byte* dmin) const {
    std::memcpy(first + 2 * lane, d, 2);
    std::memcpy(first + 2 * (kLanes + lane), dmin, 2);
  }
  void single(float d) const { std::memcpy(first + 4 * lane, &d, 4); }
  void byte(int row, uint8_t value) const {
    first[4 * kLanes + row * kLanes + lane] = static_cast<std::byte>(value);
  }
};

// One group of kLanes rows of k numbers. Requires: k a multiple of 256.
template <class F, int kLanes>
void pack_super_rows(std::byte* group, const std::byte* const* rows, int64_t k) {
  using Layout = typename F::Layout;
  constexpr int kVector = 4 * kLanes;
  for (int64_t s = 0; s < k / 256; ++s, group += Layout::kVectors * kVector) {
    std::memset(group, 0, Layout::kVectors * kVector);
    for (int lane = 0; lane < kLanes; ++lane) {
      if (rows[lane] == nullptr) continue;
      Codes codes;
      F::read(rows[lane] + s * F::kBytes, Header<kLanes>{group, lane}, codes);
      for (int b = 0; b < 8; ++b) {
        std::byte* first = group + (Layout::kHeaderVectors + b * Layout::kBlockVectors) * kVector;
        F::put(codes[b], LaneVectors<kLanes>(first, lane));
      }
    }
  }
}

}  // namespace ruv
