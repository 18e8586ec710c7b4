#include "model/file_rows.h"

namespace ruv {
namespace {

// Rows of a role's matrix that lie together in each group of a fused one: of group g, those from
// first + g · n on.
struct FusedSection {
  Role role;
  int64_t first;
  int64_t n;
};

int64_t n_groups_of(FusedOrder order, const LayerPlan& plan) {
  switch (order) {
    case FusedOrder::parts:
      return 1;
    case FusedOrder::heads:
      return plan.n_heads;
    case FusedOrder::key_heads:
      return plan.delta.n_keys;
  }
  return 1;
}

// Queries, keys and values are one matrix, but three sections of a group.
std::vector<FusedSection> sections_of(Role role, int64_t n_groups, const LayerPlan& plan) {
  if (role != Role::delta_in) return {{role, 0, n_rows_of(role, plan) / n_groups}};
  const int64_t n_keys = plan.delta.n_keys * plan.delta.key_dim;
  return {{role, 0, n_keys / n_groups},
          {role, n_keys, n_keys / n_groups},
          {role, 2 * n_keys, plan.delta.n_inner() / n_groups}};
}

}  // namespace

std::vector<int64_t> rows_in_fused(const FusedRow& fused, Role role, const LayerPlan& plan) {
  const int64_t n_groups = n_groups_of(fused.order, plan);
  std::vector<FusedSection> sections;
  for (const Role part : fused.parts) {
    for (const FusedSection& section : sections_of(part, n_groups, plan))
      sections.push_back(section);
  }
  std::vector<int64_t> rows(static_cast<size_t>(n_rows_of(role, plan)));
  int64_t at = 0;
  for (int64_t group = 0; group < n_groups; ++group) {
    for (const FusedSection& section : sections) {
      for (int64_t i = 0; i < section.n; ++i, ++at) {
        if (section.role != role) continue;
        rows[static_cast<size_t>(section.first + group * section.n + i)] = at;
      }
    }
  }
  return rows;
}

}  // namespace ruv
