// The two orders of the rows of q and k within a head. Halves: pair i is rows i and i + n/2, as
// checkpoints have them. Neighbours: pair i is rows 2i and 2i + 1, as some GGUF files have them.
// Each function says which row of the other order a row comes from. `n` is the even number of
// rotated rows; rows from n on are the same in both.
#pragma once

#include <cstdint>

namespace ruv {

constexpr int64_t neighbours_from_halves(int64_t row, int64_t n) {
  return row < n ? row / 2 + row % 2 * (n / 2) : row;
}
constexpr int64_t halves_from_neighbours(int64_t row, int64_t n) {
  return row < n ? row % (n / 2) * 2 + row / (n / 2) : row;
}

}  // namespace ruv
