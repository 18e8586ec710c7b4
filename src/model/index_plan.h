// IndexPlan: the index of an attention that reads few of the keys it sees (DeepSeek Sparse
// Attention, DeepSeek-V3.2). A layer keeps one short key more for each token. Heads of queries,
// made of the row that latent attention makes its queries of, score these keys, weighted by numbers
// made of the stream (Ops::choose_keys), and attention reads the n_chosen keys with the best
// scores. A row that sees no more keys reads all of them.
//
// The scores of all keys are computed and those of keys that are not chosen are masked, so a row
// costs what it would cost without an index, and the index on top.
#pragma once

#include <cstdint>

namespace ruv {

struct IndexPlan {
  int64_t n_heads = 0;
  int64_t head_dim = 0;  // of queries and of the key; the first numbers are rotated
  int64_t n_chosen = 0;  // 0: there is no index
  // What the nearest layer before with an index of its own has chosen is read again.
  bool is_shared = false;
  bool neighbours = false;  // files have its rows in the order of neighbours (format/row_order.h)

  bool exists() const { return n_chosen > 0; }
  bool is_own() const { return exists() && !is_shared; }
};

// More would take memory that nothing justifies: published models choose 2,048.
inline constexpr int64_t kMostChosen = int64_t{1} << 16;

}  // namespace ruv
