// View: rows × columns of float32 activations in device memory, not owned; rows are contiguous.
// HostRows: the same where the host can read and change them.
#pragma once

#include <cstdint>

#include "device/address.h"

namespace ruv {

struct View {
  Address start;
  int64_t n_rows = 0;
  int64_t n_cols = 0;

  int64_t n_bytes() const { return n_rows * n_cols * int64_t{sizeof(float)}; }
  Address row(int64_t i) const { return start + i * n_cols * int64_t{sizeof(float)}; }
  // Rows [first, first + n).
  View rows(int64_t first, int64_t n) const { return {row(first), n, n_cols}; }
  // The same numbers as (n_rows · n_cols / n, n): one row per head, for example.
  View split(int64_t n) const { return {start, n_rows * (n_cols / n), n}; }
};

struct HostRows {
  float* start = nullptr;
  int64_t n_rows = 0;
  int64_t n_cols = 0;

  float* row(int64_t i) const { return start + i * n_cols; }
};

}  // namespace ruv
