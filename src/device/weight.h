// Weight: a matrix on a device, ready for matmul, out = W · x. Either packed in the device's own
// form, or plain rows in the file's format that are decoded as they are used.
#pragma once

#include <vector>

#include "device/device.h"
#include "tensor/format.h"

namespace ruv {

struct Weight {
  int64_t n_out = 0;
  int64_t n_in = 0;
  DType dtype = DType::f32;
  // Packed in groups of group_rows rows, group_bytes each; group_rows 0: plain.
  int64_t group_rows = 0;
  int64_t group_bytes = 0;
  const void* form = nullptr;  // the device's own: how it multiplies such groups
  DeviceMemory packed;
  PlainRows plain;  // one per output row

  bool empty() const { return n_out == 0; }
  bool is_packed() const { return group_rows > 0; }
  // Requires: is_packed().
  int64_t n_groups() const { return (n_out + group_rows - 1) / group_rows; }
  int64_t packed_bytes() const { return n_groups() * group_bytes; }
  // Memory read by one pass over the matrix.
  int64_t n_bytes() const {
    return is_packed() ? packed_bytes() : n_out * format_of(dtype).bytes_of(n_in);
  }
};

}  // namespace ruv
