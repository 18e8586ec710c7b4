// Weights and activations of matmul tests, packed and multiplied as the device does.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstring>
#include <span>
#include <vector>

#include "base/rng.h"
#include "kernels/kernels.h"
#include "tensor/format.h"
#include "tensor/half.h"

namespace ruv {

inline float normal(Rng& rng) {
  double sum = 0;
  for (int i = 0; i < 6; ++i) sum += rng.uniform();
  return static_cast<float>((sum - 3.0) * 1.4);
}

// Byte offsets of the f16 scales in a block; every other byte may be anything. Where bytes mean
// infinity, all they scale is out of range.
inline std::vector<int> scale_offsets(const Format& format) {
  std::vector<int> offsets;
  if (format.block_size == 1) return offsets;
  std::vector<float> numbers(static_cast<size_t>(format.block_size));
  for (int at = 0; at + 2 <= format.block_bytes; ++at) {
    std::vector<std::byte> block(static_cast<size_t>(format.block_bytes), std::byte{0x11});
    const uint16_t infinity = 0x7C00;
    std::memcpy(block.data() + at, &infinity, 2);
    format.decode(block.data(), numbers.data(), format.block_size);
    const auto is_finite = [](float x) { return std::isfinite(x); };
    if (!std::ranges::all_of(numbers, is_finite)) offsets.push_back(at);
  }
  return offsets;
}

// Whether a block begins with an f32 scale: the formats of our own but a4, which no encoder makes.
inline bool has_f32_scale(DType dtype) {
  return static_cast<uint8_t>(dtype) >= kFirstOwnDType && dtype != DType::a4;
}

// Gives a block of random bytes the scales that tests can bear.
inline void set_scales(const Format& format, std::span<const int> f16_at, std::byte* block,
                       Rng& rng) {
  for (const int at : f16_at) {
    const uint16_t scale = f16_from_f32(0.01F * normal(rng));
    std::memcpy(block + at, &scale, 2);
  }
  if (has_f32_scale(format.dtype)) {
    const float scale = 0.01F * normal(rng);
    std::memcpy(block, &scale, 4);
  }
  if (format.dtype == DType::a4_f32 || format.dtype == DType::a8_f32) {
    const float zero = (format.dtype == DType::a4_f32 ? 7.5F : 127.5F) + normal(rng);
    std::memcpy(block + 4, &zero, 4);
  }
  if (format.dtype == DType::e4m3 || format.dtype == DType::e5m2) {  // infinities, and NaN
    for (int at = 4; at < format.block_bytes; ++at) block[at] &= std::byte{0xBF};
  }
  if (format.dtype == DType::iq1_m) {  // d is in four parts, each the top bits of a word
    const int scale = f16_from_f32(0.01F * normal(rng));
    for (int k = 0; k < 4; ++k) {
      std::byte& high = block[48 + 2 * k + 1];
      high = static_cast<std::byte>((static_cast<int>(high) & 15) | (scale >> (4 * k) & 15) << 4);
    }
  }
}

// n_rows weight rows of k numbers: random bytes with scales near 0.01, or random numbers for plain
// types and those whose scale is a byte.
inline std::vector<std::byte> random_weights(const Format& format, int64_t n_rows, int64_t k,
                                             Rng& rng) {
  std::vector<std::byte> bytes(static_cast<size_t>(n_rows * format.bytes_of(k)));
  const std::vector<int> scales = scale_offsets(format);
  if (scales.empty() && !has_f32_scale(format.dtype) && format.dtype != DType::iq1_m) {
    std::vector<float> row(static_cast<size_t>(k));
    for (int64_t r = 0; r < n_rows; ++r) {
      for (float& x : row) x = normal(rng);
      format.encode(row.data(), nullptr, bytes.data() + r * format.bytes_of(k), k);
    }
    return bytes;
  }
  for (std::byte& b : bytes) b = static_cast<std::byte>(rng.next());
  for (size_t block = 0; block < bytes.size(); block += static_cast<size_t>(format.block_bytes)) {
    set_scales(format, scales, bytes.data() + block, rng);
  }
  return bytes;
}

struct QuantizedRows {
  std::vector<std::byte> bytes;
  std::vector<float> values;  // what the bytes mean
  int64_t stride = 0;
};

inline QuantizedRows random_activations(ActFormat act, int64_t n_rows, int64_t k, Rng& rng) {
  QuantizedRows a;
  a.values.resize(static_cast<size_t>(n_rows * k));
  for (float& x : a.values) x = normal(rng);
  if (act == ActFormat::f32) {
    a.stride = k * int64_t{sizeof(float)} + 16;
    a.bytes.resize(static_cast<size_t>(n_rows * a.stride));
    for (int64_t r = 0; r < n_rows; ++r) {
      std::memcpy(a.bytes.data() + r * a.stride, a.values.data() + r * k,
                  static_cast<size_t>(k) * sizeof(float));
    }
    return a;
  }
  if (act == ActFormat::bf16) {
    a.stride = (k + 1) / 2 * 4 + 16;
    a.bytes.resize(static_cast<size_t>(n_rows * a.stride));
    for (int64_t i = 0; i < n_rows * k; ++i) {
      const uint16_t bits = bf16_from_f32(a.values[static_cast<size_t>(i)]);
      std::memcpy(a.bytes.data() + i / k * a.stride + i % k * 2, &bits, 2);
      a.values[static_cast<size_t>(i)] = f32_from_bf16(bits);
    }
    return a;
  }
  a.stride = k / 32 * int64_t{sizeof(ActBlock)};
  a.bytes.resize(static_cast<size_t>(n_rows * a.stride));
  std::vector<ActBlock> row(static_cast<size_t>(k / 32));
  for (int64_t r = 0; r < n_rows; ++r) {
    find_kernels("ref")->quantize_row(a.values.data() + r * k, row.data(), k);
    std::memcpy(a.bytes.data() + r * a.stride, row.data(), static_cast<size_t>(a.stride));
    for (int64_t i = 0; i < k; ++i) {
      const ActBlock& block = row[static_cast<size_t>(i / 32)];
      a.values[static_cast<size_t>(r * k + i)] = block.scale * static_cast<float>(block.q[i % 32]);
    }
  }
  return a;
}

// Weight rows [0, n_out) packed for one kernel.
struct Packed {
  std::vector<std::byte> bytes;
  int64_t n_groups = 0;
  int64_t group_bytes = 0;
};

inline Packed pack(const GemmKernel& row, const std::vector<std::byte>& weights, int64_t n_out,
                   int64_t k) {
  const int64_t row_bytes = format_of(row.weight).bytes_of(k);
  Packed p;
  p.n_groups = (n_out + row.mr - 1) / row.mr;
  p.group_bytes = row.group_bytes(k);
  p.bytes.resize(static_cast<size_t>(p.n_groups * p.group_bytes));
  for (int64_t g = 0; g < p.n_groups; ++g) {
    std::vector<const std::byte*> rows(static_cast<size_t>(row.mr), nullptr);
    for (int i = 0; i < row.mr && g * row.mr + i < n_out; ++i) {
      rows[static_cast<size_t>(i)] = weights.data() + (g * row.mr + i) * row_bytes;
    }
    row.pack(p.bytes.data() + g * p.group_bytes, rows.data(), k);
  }
  return p;
}

// out (n_rows, stride) with every number outside the result set to kUntouched.
inline constexpr float kUntouched = -12345.0F;

inline std::vector<float> multiply(const GemmKernel& row, const Packed& p, const QuantizedRows& a,
                                   int64_t n_rows, int64_t n_out, int64_t k) {
  const int64_t stride = n_out + 3;
  std::vector<float> out(static_cast<size_t>(n_rows * stride + 1), kUntouched);
  row.run({.weights = p.bytes.data(),
           .act = a.bytes.data(),
           .out = out.data(),
           .k = k,
           .n_groups = p.n_groups,
           .n_cols = n_out,
           .n_rows = n_rows,
           .act_stride = a.stride,
           .out_stride = stride,
           .ahead = row.ahead});
  return out;
}

}  // namespace ruv
