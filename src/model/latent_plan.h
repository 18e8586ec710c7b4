// LatentPlan: the widths of latent attention (DeepSeek-V2, arXiv 2405.04434). A token keeps one
// short row c for all heads, and one rotated part of their keys. Head h has
//   key   = K_h · c followed by the rotated part      value = V_h · c
// What is kept are c and the rotated part, and never keys and values: K_h goes to the query, since
// q · (K_h · c) = (K_hᵀ · q) · c, and V_h to the sum of the rows, since Σ p (V_h · c) = V_h · Σ p
// c. So attention sees one key head of kv_rank + rope_dim numbers, whose values are its first
// kv_rank.
#pragma once

#include <cstdint>

namespace ruv {

struct LatentPlan {
  int64_t q_rank = 0;     // of the row that queries are made of; 0: of the stream itself
  int64_t kv_rank = 0;    // of c; 0: attention is not latent
  int64_t plain_dim = 0;  // of a query head, the part without positions, which comes first
  int64_t rope_dim = 0;   // and the rotated part
  int64_t value_dim = 0;  // of a head

  int64_t query_dim() const { return plain_dim + rope_dim; }
  int64_t key_dim() const { return kv_rank + rope_dim; }
};

// Both short rows are normalised with this, whatever the file says of the other norms.
inline constexpr float kLatentNormEps = 1e-6F;

}  // namespace ruv
