#include "model/adapter_rows.h"

#include "model/file_rows.h"

namespace ruv {
namespace {

// The rows of B in the order of the decoder's matrix. That is halves where heads rotate; a layer
// without positions keeps the order of its file, in which all layers are alike.
template <class T>
void put_in_order(std::vector<T>& rows, Role role, const LayerPlan& plan, RopeOrder order,
                  const Model& model) {
  if (!is_rotated(role, plan)) return;
  if (plan.rope >= 0) {
    if (order == RopeOrder::neighbours) rotate_as_halves(rows, role, plan, model.rope);
    return;
  }
  if (order == model.file->rope_order() || model.rope.plans.empty()) return;
  const auto n_dims = static_cast<int64_t>(2 * model.rope.plans[0].inv_freq.size());
  const std::vector<T> given = rows;
  for (int64_t i = 0; i < std::ssize(rows); ++i) {
    const int64_t in_head = i % plan.head_dim;
    const int64_t from = order == RopeOrder::halves ? neighbours_from_halves(in_head, n_dims)
                                                    : halves_from_neighbours(in_head, n_dims);
    rows[static_cast<size_t>(i)] = given[static_cast<size_t>(i - in_head + from)];
  }
}

}  // namespace

RoleRows rows_of_role(const Model& model, const AdapterMatrices& m, Role role, RopeOrder order) {
  const LayerPlan& plan = model.plans[static_cast<size_t>(m.layer)];
  const FusedRow fused{.tensor = {}, .parts = m.roles, .sign = m.roles.front(), .order = m.order};
  const std::vector<int64_t> of_role = rows_in_fused(fused, role, plan);
  const auto in_order = [&](const std::vector<float>& numbers) {
    std::vector<float> picked;
    if (numbers.empty()) return picked;
    for (const int64_t i : of_role) picked.push_back(numbers[static_cast<size_t>(i)]);
    put_in_order(picked, role, plan, order, model);
    return picked;
  };
  RoleRows rows{m.b.pick(of_role), in_order(m.magnitudes), in_order(m.biases)};
  put_in_order(rows.b.rows, role, plan, order, model);
  return rows;
}

}  // namespace ruv
