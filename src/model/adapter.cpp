#include "model/adapter.h"

#include <bit>
#include <cmath>

#include "model/file_rows.h"
#include "model/key_text.h"

namespace ruv {
namespace {

const RoleRow& row_of(Role role) { return role_rows()[static_cast<size_t>(role)]; }

// "adapter: layer 3, attn_q+attn_k", the beginning of every message.
std::string name_of(const AdapterMatrices& m) {
  std::string name = fmt::format("adapter: layer {}", m.layer);
  const char* between = ", ";
  for (const Role role : m.roles) {
    name += fmt::format("{}{}", between, row_of(role).tensor);
    between = "+";
  }
  return name;
}

Status check_shapes(const LayerPlan& plan, const AdapterMatrices& m) {
  const auto rank = std::ssize(m.a.rows);
  int64_t n_out = 0;
  for (const Role role : m.roles) {
    if (!plan.has(role)) {
      return fail(Code::invalid, "{}: the model has no {} there", name_of(m), row_of(role).tensor);
    }
    if (!row_of(role).of_experts.empty()) {
      return fail(Code::unsupported, "{}: adapters of experts are not supported", name_of(m));
    }
    if (row_of(role).of_heads) {
      return fail(Code::unsupported, "{}: adapters of single heads are not supported", name_of(m));
    }
    n_out += n_rows_of(role, plan);
    const int64_t n_in = plan.extent(row_of(role).n_in);
    if (rank < 1 || m.a.n_in != n_in) {
      return fail(Code::invalid, "{}: A is ({}, {}), expected (rank, {}) with a rank of at least 1",
                  name_of(m), rank, m.a.n_in, n_in);
    }
  }
  if (std::ssize(m.b.rows) != n_out || m.b.n_in != rank) {
    return fail(Code::invalid, "{}: B is ({}, {}), expected ({}, {})", name_of(m),
                std::ssize(m.b.rows), m.b.n_in, n_out, rank);
  }
  if (!std::isfinite(m.scale)) {
    return fail(Code::invalid, "{}: the scale is {}", name_of(m), m.scale);
  }
  return {};
}

// Rows of an unpacked format would have to be kept, and blocks may not be cut.
Status check_format(const Packing& packing, const AdapterMatrices& m) {
  for (const MatrixRows* matrix : {&m.a, &m.b}) {
    const Format& format = format_of(matrix->dtype);
    if (matrix->n_in % format.block_size != 0 ||
        !packing.shape_of(matrix->dtype, matrix->n_in, 1).is_packed()) {
      return fail(Code::unsupported, "{}: rows of {} numbers cannot be {}; write them as f16",
                  name_of(m), matrix->n_in, format.name);
    }
  }
  return {};
}

Status check(const Model& model, const AdapterMatrices& m) {
  if (m.layer < 0 || m.layer >= model.h.n_layers) {
    return fail(Code::invalid, "{}: the model has {} layers", name_of(m), model.h.n_layers);
  }
  TRY(check_shapes(model.plans[static_cast<size_t>(m.layer)], m));
  return check_format(model.device->packing(), m);
}

// Everything that decides what the matrices add.
uint64_t hash_of(uint64_t before, const AdapterMatrices& m) {
  KeyText key;
  key.number(before);
  key.number(static_cast<uint64_t>(m.layer));
  for (const Role role : m.roles) key.number(static_cast<uint64_t>(role));
  key.number(static_cast<uint64_t>(m.order));
  key.number(std::bit_cast<uint32_t>(m.scale));
  for (const MatrixRows* matrix : {&m.a, &m.b}) {
    const auto n_bytes = static_cast<size_t>(format_of(matrix->dtype).bytes_of(matrix->n_in));
    key.number(static_cast<uint64_t>(matrix->dtype));
    for (const std::byte* const row : matrix->rows) key.number(hash_bytes({row, n_bytes}));
  }
  return key.hash(1);
}

// The rows of B in the order of the decoder's matrix. That is halves where heads rotate; a layer
// without positions keeps the order of its file, in which all layers are alike.
void put_in_order(std::vector<const std::byte*>& rows, Role role, const LayerPlan& plan,
                  RopeOrder order, const Model& model) {
  if (!is_rotated(role, plan)) return;
  if (plan.rope >= 0) {
    if (order == RopeOrder::neighbours) rotate_as_halves(rows, role, plan, model.rope);
    return;
  }
  if (order == model.file->rope_order() || model.rope.plans.empty()) return;
  const auto n_dims = static_cast<int64_t>(2 * model.rope.plans[0].inv_freq.size());
  const std::vector<const std::byte*> given = rows;
  for (int64_t i = 0; i < std::ssize(rows); ++i) {
    const int64_t in_head = i % plan.head_dim;
    const int64_t from = order == RopeOrder::halves ? neighbours_from_halves(in_head, n_dims)
                                                    : halves_from_neighbours(in_head, n_dims);
    rows[static_cast<size_t>(i)] = given[static_cast<size_t>(i - in_head + from)];
  }
}

}  // namespace

Result<Adapter> make_adapter(const Model& model, std::span<const AdapterMatrices> matrices,
                             RopeOrder order, WorkerPool& pool) {
  const auto pack = [&](const MatrixRows& rows) {
    return pack_weight(*model.device, pool, rows.dtype, rows.n_in, rows.rows);
  };
  if (model.family->block.repeats_layers) {
    return fail(Code::unsupported,
                "the model's layers have the weights of one: adapters of it are not supported");
  }
  Adapter adapter;
  adapter.products.resize(static_cast<size_t>(model.h.n_layers) * kRoles);
  adapter.key = static_cast<uint64_t>(order);
  for (const AdapterMatrices& m : matrices) {
    TRY(check(model, m));
    adapter.key = hash_of(adapter.key, m);
    const LayerPlan& plan = model.plans[static_cast<size_t>(m.layer)];
    const Weight a = TRY(pack(m.a));
    for (const Role role : m.roles) {
      LowRank& added = adapter.products[product_of(m.layer, role)];
      if (!added.empty()) {
        return fail(Code::invalid, "{}: {} is there twice", name_of(m), row_of(role).tensor);
      }
      const FusedRow fused{
          .tensor = {}, .parts = m.roles, .sign = m.roles.front(), .order = m.order};
      MatrixRows b = m.b.pick(rows_in_fused(fused, role, plan));
      put_in_order(b.rows, role, plan, order, model);
      added = {a, TRY(pack(b)), m.scale};
    }
  }
  return adapter;
}

}  // namespace ruv
