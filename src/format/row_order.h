// Orders of rows in files.
// The two orders of the rows of q and k within a head. Halves: pair i is rows i and i + n/2, as
// checkpoints have them. Neighbours: pair i is rows 2i and 2i + 1, as some GGUF files have them.
// Each function says which row of the other order a row comes from. `n` is the even number of
// rotated rows; rows from n on are the same in both.
#pragma once

#include <cstdint>

#include "family/family.h"

namespace ruv {

constexpr int64_t neighbours_from_halves(int64_t row, int64_t n) {
  return row < n ? row / 2 + row % 2 * (n / 2) : row;
}
constexpr int64_t halves_from_neighbours(int64_t row, int64_t n) {
  return row < n ? row % (n / 2) * 2 + row / (n / 2) : row;
}

struct HeadCounts {
  int64_t n_heads = 0, n_kv_heads = 0;  // of queries; of keys, which divide those
  int64_t head_dim = 0;

  int64_t n_rows() const { return (n_heads + 2 * n_kv_heads) * head_dim; }
};

// Where a row of queries, keys and values one after another lies in a matrix of the order `order`.
// Requires: 0 <= row < n_rows(); four_parts: as many key heads as heads, a multiple of 4.
constexpr int64_t fused_row_of(QkvRows order, int64_t row, const HeadCounts& counts) {
  if (order == QkvRows::one_after_another) return row;
  const int64_t head = row / counts.head_dim;
  const int64_t n = counts.n_heads, n_kv = counts.n_kv_heads;
  const int64_t kind = head < n ? 0 : head < n + n_kv ? 1 : 2;  // query, key, value
  const int64_t own = kind == 0 ? head : (head - n) % n_kv;     // among those of its kind
  int64_t at = 0;
  if (order == QkvRows::by_key_head) {
    const int64_t group = n / n_kv;
    at = kind == 0 ? own / group * (group + 2) + own % group : own * (group + 2) + group + kind - 1;
  } else {
    const int64_t quarter = n / 4;
    const int64_t place = kind == 0 ? 0 : 3 - kind;
    at = (own / quarter * 3 + place) * quarter + own % quarter;
  }
  return at * counts.head_dim + row % counts.head_dim;
}

}  // namespace ruv
