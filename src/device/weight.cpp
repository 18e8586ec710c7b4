#include "device/weight.h"

namespace ruv {
namespace {

void pack_groups(const Weight& weight, const std::vector<const std::byte*>& rows, Range groups) {
  const GemmKernel& kernel = *weight.kernel;
  const int64_t group_bytes = kernel.group_bytes(weight.n_in);
  std::vector<const std::byte*> group_rows(static_cast<size_t>(kernel.mr));
  for (int64_t group = groups.begin; group < groups.end; ++group) {
    for (int lane = 0; lane < kernel.mr; ++lane) {
      const int64_t row = group * kernel.mr + lane;
      group_rows[static_cast<size_t>(lane)] =
          row < weight.n_out ? rows[static_cast<size_t>(row)] : nullptr;
    }
    kernel.pack(weight.packed.get() + group * group_bytes, group_rows.data(), weight.n_in);
  }
}

}  // namespace

Result<Weight> pack_weight(const Kernels& kernels, WorkerPool& pool, DType dtype, int64_t n_in,
                           std::vector<const std::byte*> rows) {
  Weight weight;
  weight.n_out = static_cast<int64_t>(rows.size());
  weight.n_in = n_in;
  weight.dtype = dtype;
  weight.kernel = find_gemm(kernels, dtype);
  if (weight.kernel == nullptr) {
    weight.rows = std::move(rows);
    return weight;
  }
  weight.packed = TRY(Buffer::allocate(weight.n_groups() * weight.kernel->group_bytes(n_in)));
  pool.run([&](int thread) {
    pack_groups(weight, rows, part_of(weight.n_groups(), thread, pool.n_threads()));
  });
  return weight;
}

}  // namespace ruv
