// Weight: a matrix ready for matmul on this machine, out = W · x. Either packed for a kernel of the
// chosen instruction set, or plain rows in the file's format that are decoded as they are used.
#pragma once

#include <span>
#include <vector>

#include "base/buffer.h"
#include "base/worker_pool.h"
#include "kernels/kernels.h"
#include "tensor/format.h"

namespace ruv {

struct Weight {
  int64_t n_out = 0;
  int64_t n_in = 0;
  DType dtype = DType::f32;
  const GemmKernel* kernel = nullptr;  // null: plain
  SharedBytes packed;                  // n_groups() groups of kernel->group_bytes(n_in)
  std::vector<const std::byte*> rows;  // plain: one pointer per output row, into the mapped file

  bool empty() const { return n_out == 0; }
  int64_t n_groups() const { return (n_out + kernel->mr - 1) / kernel->mr; }
  // Requires: a kernel.
  int64_t group_bytes() const { return kernel->group_bytes(n_in); }
  // Memory read by one pass over the matrix.
  int64_t n_bytes() const {
    return kernel != nullptr ? packed.n_bytes() : n_out * format_of(dtype).bytes_of(n_in);
  }
};

// The matrix without its bytes: sizes and the kernel of `kernels` for its format, or none.
Weight shape_of_weight(const Kernels& kernels, DType dtype, int64_t n_in, int64_t n_out);
// Packs groups [begin, end) of `weight` to `to`, all threads of the pool at work. `rows` are those
// of the whole matrix, each format_of(dtype).bytes_of(n_in) bytes. Requires: a kernel.
void pack_groups(const Weight& weight, std::span<const std::byte* const> rows, Range groups,
                 std::byte* to, WorkerPool& pool);
// Packs a whole matrix into memory of its own; where `kernels` have no row for the format, keeps
// the pointers, which must then outlive the Weight. Fails: out_of_memory.
Result<Weight> pack_weight(const Kernels& kernels, WorkerPool& pool, DType dtype, int64_t n_in,
                           std::vector<const std::byte*> rows);

}  // namespace ruv
