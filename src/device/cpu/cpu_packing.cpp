#include "device/cpu/cpu_packing.h"

#include "base/hash.h"
#include "base/rng.h"
#include "kernels/pack/layout.h"

namespace ruv {
namespace {

void pack_part(const Weight& weight, std::span<const std::byte* const> rows, Range groups,
               std::byte* to) {
  std::vector<const std::byte*> group_rows(static_cast<size_t>(weight.group_rows));
  for (int64_t group = groups.begin; group < groups.end; ++group, to += weight.group_bytes) {
    for (int64_t lane = 0; lane < weight.group_rows; ++lane) {
      const int64_t row = group * weight.group_rows + lane;
      group_rows[static_cast<size_t>(lane)] =
          row < weight.n_out ? rows[static_cast<size_t>(row)] : nullptr;
    }
    kernel_of(weight)->pack(to, group_rows.data(), weight.n_in);
  }
}

// One group of two superblocks of arbitrary bits, packed.
void add_packer(std::vector<uint64_t>& to, const GemmKernel& kernel) {
  constexpr int64_t kColumns = 512;
  const auto row_bytes = static_cast<size_t>(format_of(kernel.weight).bytes_of(kColumns));
  std::vector<std::byte> bits(row_bytes * static_cast<size_t>(kernel.mr));
  Rng rng(1);
  for (std::byte& b : bits) b = static_cast<std::byte>(rng.next());
  std::vector<const std::byte*> rows;
  for (int i = 0; i < kernel.mr; ++i)
    rows.push_back(bits.data() + static_cast<size_t>(i) * row_bytes);
  std::vector<std::byte> packed(static_cast<size_t>(kernel.group_bytes(kColumns)));
  kernel.pack(packed.data(), rows.data(), kColumns);
  to.insert(to.end(), {static_cast<uint64_t>(kernel.weight), static_cast<uint64_t>(kernel.mr),
                       packed.size(), hash_bytes(packed)});
}

}  // namespace

Weight CpuPacking::shape_of(DType dtype, int64_t n_in, int64_t n_out) const {
  Weight weight;
  weight.n_out = n_out;
  weight.n_in = n_in;
  weight.dtype = dtype;
  const GemmKernel* const kernel = find_gemm(*kernels_, dtype);
  // Activations are quantised in blocks, which may be longer than the format's.
  const int64_t step = kernel != nullptr && kernel->act == ActFormat::q8 ? 32 : 1;
  if (kernel == nullptr || n_in % step != 0) return weight;
  weight.group_rows = kernel->mr;
  weight.group_bytes = kernel->group_bytes(n_in);
  weight.form = kernel;
  return weight;
}

void CpuPacking::pack(const Weight& weight, std::span<const std::byte* const> rows, Range groups,
                      std::byte* to, WorkerPool& pool) const {
  pool.run([&](int thread) {
    const Range part = part_of(groups.end - groups.begin, thread, pool.n_threads());
    pack_part(weight, rows, {groups.begin + part.begin, groups.begin + part.end},
              to + part.begin * weight.group_bytes);
  });
}

std::vector<uint64_t> CpuPacking::fingerprint() const {
  std::vector<uint64_t> numbers = {kPackedLayoutVersion};
  for (const GemmKernel& kernel : kernels_->gemm) add_packer(numbers, kernel);
  return numbers;
}

}  // namespace ruv
