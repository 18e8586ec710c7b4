// Experts on CPU cores: the rows of each expert are gathered, so that its matrices are read once in
// a step and multiplied by the usual kernels, as many experts at a time as the scratch has rows
// for. Rows are converted to what kernels take once, and then gathered. A row's sum has one order,
// that of its experts' numbers, and each part of it is a product that does not depend on other
// rows: neither does the result.
#include <algorithm>
#include <cstring>
#include <limits>

#include "base/check.h"
#include "device/cpu/cpu_ops.h"

namespace ruv {
namespace {

const Vector kNoExpertBias;

// Threads share columns in blocks of a cache line.
constexpr int64_t kColumnsOfThread = 16;

}  // namespace

// A counting sort, which keeps the order of rows.
void CpuOps::sort_by_expert(View routes, int64_t n_experts) {
  const int64_t n_chosen = routes.n_cols / 2;
  CHECK(n_experts < std::ssize(routed_.begin) &&
        routes.n_rows * n_chosen <= std::ssize(routed_.rows));
  const auto expert_of = [&](int64_t r, int64_t i) {
    return static_cast<size_t>(row(routes, r)[i]);
  };
  std::ranges::fill(routed_.begin, 0);
  for (int64_t r = 0; r < routes.n_rows; ++r) {
    for (int64_t i = 0; i < n_chosen; ++i) ++routed_.begin[expert_of(r, i)];
  }
  // The end of each expert's rows; filled from the last row on, it becomes their begin.
  int64_t end = 0;
  for (int64_t& n : routed_.begin) n = end += n;
  for (int64_t r = routes.n_rows - 1; r >= 0; --r) {
    for (int64_t i = 0; i < n_chosen; ++i) {
      const auto at = static_cast<size_t>(--routed_.begin[expert_of(r, i)]);
      routed_.rows[at] = static_cast<int32_t>(r);
      routed_.weights[at] = row(routes, r)[n_chosen + i];
    }
  }
}

void CpuOps::expect(std::span<const Weight* const> weights, WeightPager& pager) {
  uses_.clear();
  for (const Weight* weight : weights) {
    if (weight->is_packed()) uses_.push_back({packed_of(*weight)});
  }
  pager.begin_layer();
  pager.use(uses_);
}

void CpuOps::expect_chosen(const ExpertsParams& params) {
  uses_.clear();
  for (const std::span<const Weight> matrices : {params.gate, params.up, params.down}) {
    for (size_t e = 0; e < matrices.size(); ++e) {
      const bool is_chosen = routed_.begin[e + 1] > routed_.begin[e];
      if (is_chosen && matrices[e].is_packed()) uses_.push_back({packed_of(matrices[e])});
    }
  }
  params.pager->use(uses_);
  std::erase_if(uses_, [](const WeightPager::Use& use) { return !use.lacking; });
}

void CpuOps::experts(View out, View x, View routes, const ExpertsParams& params) {
  const int64_t n_experts = std::ssize(params.up);
  const int64_t room = params.scratch->rows.n_rows;
  sort_by_expert(routes, n_experts);
  if (params.pager != nullptr) expect_chosen(params);
  find_adapted_rows(params.adapters, params.up.size());
  std::memset(device_->pointer(out.start), 0, static_cast<size_t>(out.n_bytes()));
  if (x.n_rows > 1 && !params.weighs_inputs) convert_choices(x, params);
  const auto begin_of = [&](int64_t e) { return routed_.begin[static_cast<size_t>(e)]; };
  for (int64_t first = 0, end = 0; first < n_experts; first = end) {
    while (end < n_experts && begin_of(end + 1) - begin_of(first) <= room) ++end;
    CHECK(end > first);  // an expert has at most the rows of the step
    add_experts(out, x, {first, end}, params);
  }
}

void CpuOps::list_products(View to, std::span<const Weight> matrices,
                           std::span<const Vector> biases, Range experts, int64_t first) {
  for (int64_t e = experts.begin; e < experts.end; ++e) {
    const auto index = static_cast<size_t>(e);
    const int64_t n_rows = routed_.begin[index + 1] - routed_.begin[index];
    const int64_t at = routed_.begin[index] - first;
    if (n_rows == 0) continue;
    const Vector& bias = biases.empty() ? kNoExpertBias : biases[index];
    expert_products_.push_back({to.rows(at, n_rows), &matrices[index], &bias, at});
  }
}

// What memory has is multiplied while the disk reads the rest.
void CpuOps::put_lacking_last(const ExpertsParams& params) {
  if (params.pager == nullptr) return;
  const auto is_there = [this](const Product& product) {
    const std::byte* const start = device_->pointer(product.weight->packed.start);
    return std::ranges::none_of(
        uses_, [start](const WeightPager::Use& use) { return use.bytes.data() == start; });
  };
  std::stable_partition(expert_products_.begin(), expert_products_.end(), is_there);
}

void CpuOps::limit_gates(View gate, View up, GateLimits limits) {
  if (limits.limit == 0 && limits.up_shift == 0) return;
  const float most = limits.limit > 0 ? limits.limit : std::numeric_limits<float>::infinity();
  for_rows(gate.n_rows, 2 * gate.n_cols, [&](int64_t i) {
    float* const g = row(gate, i);
    float* const u = row(up, i);
    for (int64_t c = 0; c < gate.n_cols; ++c) {
      g[c] = g[c] > most ? most : g[c];
      u[c] = (u[c] > most ? most : u[c] < -most ? -most : u[c]) + limits.up_shift;
    }
  });
}

void CpuOps::add_experts(View out, View x, Range experts, const ExpertsParams& params) {
  const int64_t first = routed_.begin[static_cast<size_t>(experts.begin)];
  const int64_t n = routed_.begin[static_cast<size_t>(experts.end)] - first;
  if (n == 0) return;
  const View rows{params.scratch->rows.start, n, x.n_cols};
  const bool is_gated = !params.gate.empty();
  const View gate{params.scratch->gate.start, n, params.up[0].n_out};
  const View up = is_gated ? View{params.scratch->up.start, n, params.up[0].n_out} : gate;
  const auto chosen =
      std::span(routed_.rows).subspan(static_cast<size_t>(first), static_cast<size_t>(n));
  const auto weight_of = [&](int64_t i) { return routed_.weights[static_cast<size_t>(first + i)]; };
  expert_products_.clear();
  if (is_gated) list_products(gate, params.gate, params.gate_bias, experts, first);
  list_products(up, params.up, params.up_bias, experts, first);
  put_lacking_last(params);
  if (params.weighs_inputs) {
    gather(rows, x, chosen);
    for_rows(n, rows.n_cols, [&](int64_t i) {
      float* const numbers = row(rows, i);
      for (int64_t c = 0; c < rows.n_cols; ++c) numbers[c] *= weight_of(i);
    });
    matmul_each(expert_products_, rows);
  } else if (x.n_rows == 1) {
    for (Product& product : expert_products_) product.first_row = 0;
    matmul_each(expert_products_, x);
  } else {
    multiply_chosen(expert_products_, x, chosen, rows);
  }
  const ExpertAdapters& adapters = params.adapters;
  const bool is_adapted = !adapted_rows_.empty();
  if (is_adapted) {
    if (!params.weighs_inputs) gather(rows, x, chosen);
    if (is_gated) add_low_rank_of(experts, gate, rows, first, adapters.gate, *adapters.scratch);
    add_low_rank_of(experts, up, rows, first, adapters.up, *adapters.scratch);
  }
  if (is_gated) {
    limit_gates(gate, up, params.limits);
    this->gate(gate, up, params.act);
  } else {
    activate(gate, params.act);
  }
  expert_products_.clear();
  list_products(rows, params.down, params.down_bias, experts, first);
  put_lacking_last(params);
  matmul_each(expert_products_, gate);
  if (is_adapted) {
    add_low_rank_of(experts, rows, gate, first, adapters.down, *adapters.scratch);
  }
  const auto add_columns = [&](Range columns) {
    for (int64_t i = 0; i < n; ++i) {
      const auto to = routed_.rows[static_cast<size_t>(first + i)];
      kernels_->blend(row(out, to) + columns.begin, row(rows, i) + columns.begin,
                      columns.end - columns.begin, 1.0F,
                      params.weighs_inputs ? 1.0F : weight_of(i));
    }
  };
  if (!worth_threads(n * out.n_cols)) return add_columns({0, out.n_cols});
  pool_->run([&](int thread) {
    add_columns(part_of(out.n_cols, thread, pool_->n_threads(), kColumnsOfThread));
  });
}

}  // namespace ruv
