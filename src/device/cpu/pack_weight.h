// Packing of matrices for the kernels of a CPU.
#pragma once

#include <span>

#include "base/worker_pool.h"
#include "device/weight.h"

namespace ruv {

// The matrix without its bytes: sizes and the kernel of `kernels` for its format, or none.
Weight shape_of_weight(const Kernels& kernels, DType dtype, int64_t n_in, int64_t n_out);
// Packs groups [begin, end) of `weight` to `to`, all threads of the pool at work. `rows` are those
// of the whole matrix, each format_of(dtype).bytes_of(n_in) bytes. Requires: a kernel.
void pack_groups(const Weight& weight, std::span<const std::byte* const> rows, Range groups,
                 std::byte* to, WorkerPool& pool);
// A whole matrix on a device: packed, or where `kernels` have no row for the format, its plain
// rows, which must then outlive the Weight. Fails: out_of_memory.
Result<Weight> pack_weight(Device& device, const Kernels& kernels, WorkerPool& pool, DType dtype,
                           int64_t n_in, std::span<const std::byte* const> rows);

}  // namespace ruv
