// Values of pages for many rows: a few columns of all tokens are widened once (f16 to float32, int8
// to int16), into memory that fits the first-level cache, and read from there by tile after tile of
// rows. Widening does not round, and the sums are those of pages.inc.h, so the bytes are the same.
// It pays where a conversion takes the multipliers' time, as on AVX2. Scores do not gain: their
// tiles are short, and widening 16 tokens' keys takes as long as one tile.
#pragma once

#include "kernels/generic/byte_pages.inc.h"

namespace ruv {
namespace {

// N and Wide are the numbers of pages before and after. Wide gives in addition widen(to, from): a
// vector of columns of one row of a page.
template <class V, class N, class Wide>
struct WideValues {
  using Args = typename N::ValueArgs;
  static constexpr int L = V::kLanes;
  static constexpr int kVectors = V::kPageSums / V::kPageRows;  // of a tile
  static constexpr int kColumns = kVectors * L;
  static constexpr int kRows = kPageTokens / N::kTokens;
  static constexpr int64_t kPageBytes = int64_t{kRows} * kColumns * Wide::kColumnBytes;
  static constexpr int64_t kMostPages = 16;
  static constexpr int64_t kFromRows = 8 * V::kPageRows;

  static void values(const Args& a) {
    if (a.n_rows < kFromRows || a.values.n_pages > kMostPages) return Pages<V, N>::values(a);
    alignas(64) std::byte wide[kMostPages * kPageBytes];
    const void* pages[kMostPages];
    for (int64_t p = 0; p < a.values.n_pages; ++p) pages[p] = wide + p * kPageBytes;
    Args block = a;
    block.values = {pages, a.values.n_pages, 0};
    block.head_dim = kColumns;
    int64_t column = 0;
    for (; column + kColumns <= a.head_dim; column += kColumns) {
      for (int64_t p = 0; p < a.values.n_pages; ++p) {
        widen(static_cast<const std::byte*>(a.values.pages[p]) + column * N::kColumnBytes,
              a.head_dim * N::kColumnBytes, wide + p * kPageBytes);
      }
      block.out = a.out + column;
      Pages<V, Wide>::values(block);
    }
    if (column < a.head_dim) Pages<V, N>::values_from(a, column);
  }

 private:
  static void widen(const std::byte* from, int64_t row_bytes, std::byte* to) {
    for (int row = 0; row < kRows; ++row, from += row_bytes) {
      RUV_UNROLL
      for (int i = 0; i < kVectors; ++i, to += L * Wide::kColumnBytes) {
        Wide::widen(to, from + i * L * N::kColumnBytes);
      }
    }
  }
};

// Values of f16 as float32.
template <class V>
struct WideHalves : HalfNumbers<V> {
  static constexpr int kColumnBytes = 4;

  template <int>
  RUV_INLINE static typename V::F values(const std::byte* p) {
    return V::load(reinterpret_cast<const float*>(p));
  }
  RUV_INLINE static void widen(std::byte* to, const std::byte* from) {
    V::store(reinterpret_cast<float*>(to), V::load_f16(from));
  }
};

// Values of int8 as int16.
template <class V>
struct WideBytes : ByteNumbers<V> {
  static constexpr int kColumnBytes = 4;

  template <int>
  RUV_INLINE static auto values(const std::byte* p) {
    return V::wide_pairs(p);
  }
  RUV_INLINE static void widen(std::byte* to, const std::byte* from) {
    V::store_wide_pairs(to, V::value_pairs(reinterpret_cast<const int8_t*>(from)));
  }
};

// How a table sums the values of many rows: widened or as they are.
template <class V, class N, template <class> class Wide>
constexpr auto values_of() {
  if constexpr (V::kWidensPages) {
    return WideValues<V, N, Wide<V>>::values;
  } else {
    return Pages<V, N>::values;
  }
}

}  // namespace
}  // namespace ruv
