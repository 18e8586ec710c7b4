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

// A vector of floats against rows of f16, of which row i is scales[i] times its numbers.
using HalfKernel = void (*)(const float* query, const uint16_t* const* rows, const float* scales,
                            int64_t n_rows, int64_t n, float* out);
// What each part of four numbers of a query adds to the distance from each of 256 centres:
// out[256 · part + centre]. `centres` has the first numbers of a part's 256 centres, then the
// second ones, and so on.
using PartKernel = void (*)(const float* query, const float* centres, int64_t n_parts, float* out);
inline constexpr int64_t kCentresOfPart = 256;
inline constexpr int64_t kNumbersOfPart = 4;

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
  // As of floats. Requires: scales are powers of two.
  HalfKernel l2_half = nullptr;
  HalfKernel dot_half = nullptr;
  HalfKernel manhattan_half = nullptr;
  // Σ q · x of a query's n numbers from -127 to 127 and rows of n/2 bytes: of each 64 numbers the
  // first 32 lie in the lower halves of 32 bytes, the others in the upper ones, 8 higher than they
  // are. Requires: n is a multiple of 64, at most 2^17.
  void (*dot_int4)(const int8_t* query, const uint8_t* const* rows, int64_t n_rows, int64_t n,
                   int32_t* out) = nullptr;
  PartKernel l2_parts = nullptr;
  PartKernel dot_parts = nullptr;
  PartKernel manhattan_parts = nullptr;
  // Σ table[256 · part + row[part]] for each row of n_parts bytes: 16 chains, folded in halves.
  // Requires: n_parts is a multiple of 16.
  void (*sum_parts)(const float* table, const uint8_t* const* rows, int64_t n_rows, int64_t n_parts,
                    float* out) = nullptr;
};

// What this machine can run, the reference first, the best last.
std::span<const DistanceKernels* const> all_distance_kernels();
// The best one, or what RUV_ISA names where there is one.
const DistanceKernels& distance_kernels();

}  // namespace ruv
