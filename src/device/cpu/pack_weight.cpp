#include "device/cpu/pack_weight.h"

namespace ruv {
namespace {

void pack_part(const Weight& weight, std::span<const std::byte* const> rows, Range groups,
               std::byte* to) {
  const GemmKernel& kernel = *weight.kernel;
  const int64_t group_bytes = weight.group_bytes();
  std::vector<const std::byte*> group_rows(static_cast<size_t>(kernel.mr));
  for (int64_t group = groups.begin; group < groups.end; ++group, to += group_bytes) {
    for (int lane = 0; lane < kernel.mr; ++lane) {
      const int64_t row = group * kernel.mr + lane;
      group_rows[static_cast<size_t>(lane)] =
          row < weight.n_out ? rows[static_cast<size_t>(row)] : nullptr;
    }
    kernel.pack(to, group_rows.data(), weight.n_in);
  }
}

}  // namespace

Weight shape_of_weight(const Kernels& kernels, DType dtype, int64_t n_in, int64_t n_out) {
  Weight weight;
  weight.n_out = n_out;
  weight.n_in = n_in;
  weight.dtype = dtype;
  weight.kernel = find_gemm(kernels, dtype);
  return weight;
}

void pack_groups(const Weight& weight, std::span<const std::byte* const> rows, Range groups,
                 std::byte* to, WorkerPool& pool) {
  const int64_t group_bytes = weight.group_bytes();
  pool.run([&](int thread) {
    const Range part = part_of(groups.end - groups.begin, thread, pool.n_threads());
    pack_part(weight, rows, {groups.begin + part.begin, groups.begin + part.end},
              to + part.begin * group_bytes);
  });
}

Result<Weight> pack_weight(Device& device, const Kernels& kernels, WorkerPool& pool, DType dtype,
                           int64_t n_in, std::span<const std::byte* const> rows) {
  Weight weight = shape_of_weight(kernels, dtype, n_in, static_cast<int64_t>(rows.size()));
  if (weight.kernel == nullptr) {
    weight.plain = TRY(device.take_rows(rows, format_of(dtype).bytes_of(n_in)));
    return weight;
  }
  Buffer packed = TRY(Buffer::allocate(weight.n_groups() * weight.group_bytes()));
  pack_groups(weight, rows, {0, weight.n_groups()}, packed.get(), pool);
  weight.packed = TRY(device.take(SharedBytes(std::move(packed))));
  return weight;
}

}  // namespace ruv
