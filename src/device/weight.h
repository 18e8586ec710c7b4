// Weight: a matrix ready for matmul on this machine, out = W · x. Either packed for a kernel of the
// chosen instruction set, or plain rows in the file's format that are decoded as they are used.
#pragma once

#include <memory>
#include <vector>

#include "base/buffer.h"
#include "base/threads.h"
#include "kernels/kernels.h"
#include "tensor/format.h"

namespace ruv {

struct Weight {
  int64_t n_out = 0;
  int64_t n_in = 0;
  DType dtype = DType::f32;
  const GemmKernel* kernel = nullptr;  // null: plain
  Buffer packed;                       // n_groups() groups of kernel->group_bytes(n_in)
  std::vector<const std::byte*> rows;  // plain: one pointer per output row, into the mapped file

  bool empty() const { return n_out == 0; }
  int64_t n_groups() const { return (n_out + kernel->mr - 1) / kernel->mr; }
  // Memory read by one pass over the matrix.
  int64_t n_bytes() const {
    return kernel != nullptr ? packed.n_bytes() : n_out * format_of(dtype).bytes_of(n_in);
  }
};

// Packs a matrix given by its rows (each format_of(dtype).bytes_of(n_in) bytes) for `kernels`;
// where they have no row for the format, keeps the pointers, which must then outlive the Weight.
// Fails: out_of_memory.
Result<Weight> pack_weight(const Kernels& kernels, WorkerPool& pool, DType dtype, int64_t n_in,
                           std::vector<const std::byte*> rows);

}  // namespace ruv
