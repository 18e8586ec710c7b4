#include "train/factor_packer.h"

#include <algorithm>
#include <cstring>

namespace ruv {
namespace {

constexpr int64_t kMostGroupRows = 64;
constexpr int64_t kPairBytes = 2 * int64_t{sizeof(uint16_t)};

uint32_t bits_of_bf16(uint16_t x) { return uint32_t{x} << 16; }

}  // namespace

FactorPacker::FactorPacker(const Kernels& exact, FactorPrecision precision)
    : kernel_(find_gemm(exact, DType::f32)) {
  if (precision == FactorPrecision::f32) return;
  const GemmKernel* const pairs = find_gemm(kernels(), DType::bf16);
  if (pairs->act == ActFormat::bf16) kernel_ = pairs;
  to_bf16_ = kernels().to_bf16;
}

int64_t FactorPacker::row_bytes(int64_t k) const {
  return has_pairs() ? (k + 1) / 2 * kPairBytes : k * int64_t{sizeof(float)};
}

// In place, some at a time.
void FactorPacker::round(float* numbers, int64_t n) const {
  constexpr int64_t kAtOnce = 256;
  uint16_t rounded[kAtOnce];
  for (int64_t first = 0; first < n; first += kAtOnce) {
    const int64_t size = std::min(kAtOnce, n - first);
    to_bf16_(numbers + first, rounded, size);
    for (int64_t i = 0; i < size; ++i) {
      const uint32_t bits = bits_of_bf16(rounded[i]);
      std::memcpy(numbers + first + i, &bits, sizeof bits);
    }
  }
}

// An odd row is filled up with a zero.
void FactorPacker::write_row(std::byte* row, int64_t begin, int64_t n, const float* from,
                             int64_t k) const {
  if (!has_pairs()) {
    auto* const to = reinterpret_cast<float*>(row) + begin;
    std::copy_n(from, n, to);
    if (to_bf16_ != nullptr) round(to, n);
    return;
  }
  auto* const to = reinterpret_cast<uint16_t*>(row) + begin;
  to_bf16_(from, to, n);
  if (begin + n == k && k % 2 != 0) to[n] = 0;
}

void FactorPacker::pack_rows(std::byte* group, const float* from, int64_t row_step, int64_t n_rows,
                             int64_t k, std::byte* scratch) const {
  const std::byte* rows[kMostGroupRows] = {};
  for (int64_t i = 0; i < n_rows; ++i) {
    const float* const row = from + i * row_step;
    if (takes_rows()) {
      rows[i] = reinterpret_cast<const std::byte*>(row);
      continue;
    }
    std::byte* const rounded = scratch + i * row_bytes(k);
    write_row(rounded, 0, k, row, k);
    rows[i] = rounded;
  }
  kernel_->pack(group, rows, k);
}

// A step of a group is numbers that follow each other in memory; with pairs, two such runs in turn.
void FactorPacker::pack_columns(std::byte* group, const float* from, int64_t col_step,
                                int64_t n_rows, int64_t k) const {
  const int64_t n_lanes = group_rows();
  if (!has_pairs()) {
    auto* const steps = reinterpret_cast<float*>(group);
    for (int64_t p = 0; p < k; ++p) {
      float* const step = steps + p * n_lanes;
      std::fill(std::copy_n(from + p * col_step, n_rows, step), step + n_lanes, 0.0F);
      if (to_bf16_ != nullptr) round(step, n_rows);
    }
    return;
  }
  auto* const pairs = reinterpret_cast<uint32_t*>(group);
  uint16_t low[kMostGroupRows] = {};
  uint16_t high[kMostGroupRows] = {};
  for (int64_t p = 0; p < k; p += 2) {
    to_bf16_(from + p * col_step, low, n_rows);
    if (p + 1 < k) {
      to_bf16_(from + (p + 1) * col_step, high, n_rows);
    } else {
      std::fill_n(high, n_rows, uint16_t{0});
    }
    uint32_t* const step = pairs + p / 2 * n_lanes;
    for (int64_t i = 0; i < n_lanes; ++i) step[i] = uint32_t{low[i]} | uint32_t{high[i]} << 16;
  }
}

}  // namespace ruv
