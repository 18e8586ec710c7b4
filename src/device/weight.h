// Weight: a matrix on a device, ready for matmul, out = W · x. Either packed for a kernel of the
// chosen instruction set, or plain rows in the file's format that are decoded as they are used.
#pragma once

#include <vector>

#include "device/device.h"
#include "kernels/kernels.h"
#include "tensor/format.h"

namespace ruv {

struct Weight {
  int64_t n_out = 0;
  int64_t n_in = 0;
  DType dtype = DType::f32;
  const GemmKernel* kernel = nullptr;  // null: plain
  DeviceMemory packed;                 // n_groups() groups of kernel->group_bytes(n_in)
  PlainRows plain;                     // one per output row

  bool empty() const { return n_out == 0; }
  int64_t n_groups() const { return (n_out + kernel->mr - 1) / kernel->mr; }
  // Requires: a kernel.
  int64_t group_bytes() const { return kernel->group_bytes(n_in); }
  // Memory read by one pass over the matrix.
  int64_t n_bytes() const {
    return kernel != nullptr ? packed.n_bytes : n_out * format_of(dtype).bytes_of(n_in);
  }
};

}  // namespace ruv
