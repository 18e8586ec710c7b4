// Distances between vectors, one table per instruction set. All tables give the same bits: sums are
// 64 chains of multiply-adds, number i in chain i % 64, folded in halves; sums of integers are
// exact.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace ruv {

// One vector against others. Rows lie anywhere; a kernel asks for those after the present one
// early, so that several of them are on their way from memory at once.
template <class Number, class Distance>
using DistanceKernel = void (*)(const Number* query, const Number* const* rows, int64_t n_rows,
                                int64_t n, Distance* out);

// Requires of floats: n is a multiple of 16; vectors are filled up with zeros, which add nothing.
struct DistanceKernels {
  std::string_view isa;
  DistanceKernel<float, float> l2 = nullptr;         // Σ (q - x)²
  DistanceKernel<float, float> dot = nullptr;        // Σ q · x
  DistanceKernel<float, float> manhattan = nullptr;  // Σ |q - x|
  // Σ q · x of numbers from -127 to 127. Requires: n is a multiple of 64, at most 2^17.
  DistanceKernel<int8_t, int32_t> dot_int8 = nullptr;
  // Bits that differ; n counts bytes. Requires: n is a multiple of 8.
  DistanceKernel<uint8_t, int32_t> hamming = nullptr;
};

// What this machine can run, the reference first, the best last.
std::span<const DistanceKernels* const> all_distance_kernels();
// The best one, or what RUV_ISA names where there is one.
const DistanceKernels& distance_kernels();

}  // namespace ruv
