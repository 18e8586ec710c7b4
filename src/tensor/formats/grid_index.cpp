// Distances are summed over nibbles, so comparing a point with an entry takes four look-ups.
#include "tensor/formats/grid_index.h"

#include <algorithm>

namespace ruv {
namespace {

// Squared distances, in 64ths, of the four nibbles of any entry from those of one point.
struct NibbleDistances {
  int of[4][16] = {};
  int from(uint16_t entry) const {
    return of[0][entry & 15] + of[1][(entry >> 4) & 15] + of[2][(entry >> 8) & 15] +
           of[3][entry >> 12];
  }
};

// Index 3 of three levels is in no entry.
int squared_gap(const GridBook& book, int a, int b) {
  if (b >= std::ssize(book.level)) return 0;
  const float from = book.level[static_cast<size_t>(a)];
  const int gap = static_cast<int>(8.0F * (from - book.level[static_cast<size_t>(b)]));
  return gap * gap;
}

NibbleDistances distances_of(const GridBook& book, const int* point) {
  NibbleDistances distances;
  for (int nibble = 0; nibble < 4; ++nibble) {
    for (int value = 0; value < 16; ++value) {
      int& sum = distances.of[nibble][value];
      if (book.n_digits == 4) {
        sum = squared_gap(book, point[nibble], value);
      } else {
        sum = squared_gap(book, point[2 * nibble], value & 3) +
              squared_gap(book, point[2 * nibble + 1], value >> 2);
      }
    }
  }
  return distances;
}

}  // namespace

GridIndex::GridIndex(const GridBook& book) {
  const int n_levels = static_cast<int>(book.level.size());
  int n_points = 1;
  for (int i = 0; i < book.n_digits; ++i) n_points *= n_levels;
  exact_.assign(static_cast<size_t>(n_points), -1);
  near_.resize(static_cast<size_t>(n_points * kNear));
  std::vector<int> keys(book.entries.size());
  for (int p = 0; p < n_points; ++p) {
    int point[8];
    for (int i = 0, rest = p; i < book.n_digits; ++i, rest /= n_levels) {
      point[i] = rest % n_levels;
    }
    const NibbleDistances distances = distances_of(book, point);
    // Distance and number in one key; distances are at most 4 · 116² and numbers below 2048.
    for (size_t e = 0; e < keys.size(); ++e) {
      keys[e] = distances.from(book.entries[e]) * 2048 + static_cast<int>(e);
    }
    if (const int least = *std::min_element(keys.begin(), keys.end()); least < 2048) {
      exact_[static_cast<size_t>(p)] = static_cast<int16_t>(least);
    }
    std::partial_sort(keys.begin(), keys.begin() + kNear, keys.end());
    for (int k = 0; k < kNear; ++k) {
      near_[static_cast<size_t>(p * kNear + k)] =
          static_cast<uint16_t>(keys[static_cast<size_t>(k)] % 2048);
    }
  }
}

}  // namespace ruv
