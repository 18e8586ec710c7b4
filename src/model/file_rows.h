// How files lay out the rows of a role's matrix: as a part of a fused matrix, or within heads in an
// order of their own. What holds for a weight holds for all that has one entry per row of it: its
// bias, and the B matrix of an adapter.
#pragma once

#include "format/row_order.h"
#include "model/layer_plan.h"

namespace ruv {

// Rows of the role's matrix in a layer with this plan.
inline int64_t n_rows_of(Role role, const LayerPlan& plan) {
  return plan.extent(role_rows()[static_cast<size_t>(role)].n_out);
}

// Where the role's rows lie in a fused matrix: row i of the role's is row result[i] of it.
std::vector<int64_t> rows_in_fused(const FusedRow& fused, Role role, const LayerPlan& plan);

// Whether rows of the role may come in the order of neighbours (format/row_order.h).
inline bool is_rotated(Role role, const LayerPlan& plan) {
  return role == Role::q || role == Role::k || role == Role::q_rope || role == Role::k_rope ||
         (role == Role::index_q && plan.index.neighbours) ||
         (role == Role::index_k && plan.index.neighbours);
}

// Entries for rows that rotate as neighbours become entries for rows that rotate as halves; the
// decoder knows only these.
template <class T>
void rotate_as_halves(std::vector<T>& entries, Role role, const LayerPlan& plan,
                      const RopePlans& ropes) {
  if (plan.rope < 0) return;
  const bool is_part = role == Role::q_rope || role == Role::k_rope;
  const int64_t head_dim = is_part             ? plan.latent.rope_dim
                           : is_of_index(role) ? plan.index.head_dim
                                               : plan.head_dim;
  const RopePlan& rope = ropes.plans[static_cast<size_t>(plan.rope)];
  const auto n_dims = static_cast<int64_t>(2 * rope.inv_freq.size());
  const std::vector<T> neighbours = entries;
  for (int64_t i = 0; i < std::ssize(entries); ++i) {
    const int64_t in_head = i % head_dim;
    const int64_t from = i - in_head + halves_from_neighbours(in_head, n_dims);
    entries[static_cast<size_t>(i)] = neighbours[static_cast<size_t>(from)];
  }
}

// Entries for the rows of a fused matrix of this order become those of queries, keys and values one
// after another.
template <class T>
void put_one_after_another(std::vector<T>& entries, QkvRows order, const HeadCounts& counts) {
  if (order == QkvRows::one_after_another || entries.empty()) return;
  const std::vector<T> fused = entries;
  for (int64_t i = 0; i < std::ssize(entries); ++i) {
    entries[static_cast<size_t>(i)] = fused[static_cast<size_t>(fused_row_of(order, i, counts))];
  }
}

}  // namespace ruv
