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
  format.encode(numbers.data(), nullptr, matrix.owned->get(), n);
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

// The same for an end of the model. `a` of an embedding has a row for each token.
inline AdapterMatrices random_matrices(const Model& model, ModelEnd end, int64_t rank, Rng& rng) {
  const HParams& h = model.h;
  const bool embeds = end == ModelEnd::token_embd;
  const int64_t n_out = embeds ? h.n_embd_in : h.n_vocab, n_in = embeds ? h.n_vocab : h.n_embd;
  return {.a = host_matrix(small_numbers(rank * n_in, rng), embeds ? rank : n_in),
          .b = host_matrix(small_numbers(n_out * rank, rng), rank),
          .scale = 2.0F,
          .end = end};
}

// Lengths from 0.5 to 1.5 for the rows of B.
inline void add_random_lengths(AdapterMatrices& m, Rng& rng) {
  for (size_t i = 0; i < m.b.rows.size(); ++i) {
    m.magnitudes.push_back(0.5F + static_cast<float>(rng.below(1025)) * 0x1p-10F);
  }
}

// An adapter with random matrices for every product of the model, of each expert as well.
inline Adapter random_adapter(const Model& model, int64_t rank, uint64_t seed,
                              DType dtype = DType::f32) {
  Rng rng(seed);
  std::vector<AdapterMatrices> all;
  for (int64_t layer = 0; layer < model.h.n_layers; ++layer) {
    for (const RoleRow& row : role_rows()) {
      if (!model.plans[static_cast<size_t>(layer)].has(row.role)) continue;
      if (row.of_heads) continue;
      const int64_t n_experts = model.plans[static_cast<size_t>(layer)].n_experts;
      for (int64_t e = 0; e < (row.of_experts.empty() ? 1 : n_experts); ++e) {
        AdapterMatrices m = random_matrices(model, layer, {&row.role, 1}, rank, rng, dtype);
        if (!row.of_experts.empty()) m.expert = e;
        all.push_back(std::move(m));
      }
    }
  }
  WorkerPool pool(1);
  return std::move(*make_adapter(model, all, RopeOrder::halves, pool));
}

}  // namespace ruv
