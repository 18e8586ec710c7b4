// Matrices of adapters in host memory, for tests.
#pragma once

#include <algorithm>
#include <vector>

#include "base/rng.h"
#include "model/adapter.h"

namespace ruv {

// Rows of n_in numbers in this format.
inline MatrixRows host_matrix(const std::vector<float>& numbers, int64_t n_in,
                              DType dtype = DType::f32) {
  const Format& format = format_of(dtype);
  const auto n = static_cast<int64_t>(numbers.size());
  MatrixRows matrix{"test", dtype, n_in, {}, nullptr};
  matrix.owned = std::make_shared<Buffer>(std::move(*Buffer::allocate(format.bytes_of(n))));
  format.encode(numbers.data(), matrix.owned->get(), n);
  for (int64_t at = 0; at < n; at += n_in) {
    matrix.rows.push_back(matrix.owned->get() + format.bytes_of(at));
  }
  return matrix;
}

// Multiples of 2^-12 below 1/8, the same on every machine.
inline std::vector<float> small_numbers(int64_t n, Rng& rng) {
  std::vector<float> numbers(static_cast<size_t>(n));
  for (float& x : numbers) x = (static_cast<float>(rng.below(1025)) - 512.0F) * 0x1p-12F;
  return numbers;
}

// Random matrices for these roles of a layer.
inline AdapterMatrices random_matrices(const Model& model, int64_t layer,
                                       std::span<const Role> roles, int64_t rank, Rng& rng,
                                       DType dtype = DType::f32) {
  const LayerPlan& plan = model.plans[static_cast<size_t>(layer)];
  const int64_t n_in = plan.extent(role_rows()[static_cast<size_t>(roles.front())].n_in);
  int64_t n_out = 0;
  for (const Role role : roles) {
    n_out += plan.extent(role_rows()[static_cast<size_t>(role)].n_out);
  }
  return {layer, roles, host_matrix(small_numbers(rank * n_in, rng), n_in, dtype),
          host_matrix(small_numbers(n_out * rank, rng), rank, dtype), 2.0F};
}

// An adapter with random matrices for every product of the model but those of experts.
inline Adapter random_adapter(const Model& model, int64_t rank, uint64_t seed,
                              DType dtype = DType::f32) {
  Rng rng(seed);
  std::vector<AdapterMatrices> all;
  for (int64_t layer = 0; layer < model.h.n_layers; ++layer) {
    for (const RoleRow& row : role_rows()) {
      if (!model.plans[static_cast<size_t>(layer)].has(row.role)) continue;
      if (!row.of_experts.empty() || row.of_heads) continue;
      all.push_back(random_matrices(model, layer, {&row.role, 1}, rank, rng, dtype));
    }
  }
  WorkerPool pool(1);
  return std::move(*make_adapter(model, all, RopeOrder::halves, pool));
}

}  // namespace ruv
