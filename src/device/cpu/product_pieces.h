// How a matmul is cut into pieces for a team of threads: ranges of columns, of which a free thread
// takes the next, so that a thread that is held up delays the others by one piece only.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/range.h"

namespace ruv {

// Pieces are whole pairs of groups of columns: kernels share activations between the two.
inline constexpr int64_t kGroupsOfPiece = 2;

// The pieces of a product of n_rows rows with weights of n_bytes, at least 1. More of them spread
// the work more evenly; each costs one addition to a counter that all threads share. Few rows read
// memory: their pieces are long, to keep its streams long.
inline int n_pieces(int64_t n_bytes, int64_t n_rows, int n_threads) {
  constexpr int64_t kStreamBytes = 2 << 20;
  constexpr int64_t kFewRows = 8;
  constexpr int64_t kPiecesOfThread = 4;
  if (n_threads == 1) return 1;
  const int64_t most = kPiecesOfThread * n_threads;
  if (n_rows > kFewRows) return static_cast<int>(most);
  const int64_t n = std::clamp<int64_t>(n_bytes / kStreamBytes, 1, most);
  return static_cast<int>((n + n_threads - 1) / n_threads * n_threads);
}

// The groups of piece `index` of n. Empty where there are more pieces than pairs of groups.
inline Range groups_of_piece(int64_t n_groups, int index, int n) {
  return part_of(n_groups, index, n, kGroupsOfPiece);
}

}  // namespace ruv
