// Packers: from rows of a file's blocks to one group in the layout of pack/layout.h. Plain C++,
// shared by all instruction sets; instantiated for 8 and 16 lanes, the float
// types for four vectors of them.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tensor/dtype.h"

namespace ruv {

// Bytes of one packed group of kLanes rows of k numbers.
template <DType kType, int kLanes>
int64_t packed_bytes(int64_t k);

// The signature of GemmKernel::pack; rows[i] null is a row of zeros.
template <DType kType, int kLanes>
void pack_group(std::byte* group, const std::byte* const* rows, int64_t k);

// The same for the 256-number formats.
template <DType kType, int kLanes>
int64_t packed_super_bytes(int64_t k);
template <DType kType, int kLanes>
void pack_super_group(std::byte* group, const std::byte* const* rows, int64_t k);

// The formats of codebooks and small floats: iq1_s … iq3_s, tq1_0, tq2_0, mxfp4, nvfp4, e2m1.
template <DType kType, int kLanes>
int64_t packed_codebook_bytes(int64_t k);
template <DType kType, int kLanes>
void pack_codebook_group(std::byte* group, const std::byte* const* rows, int64_t k);

// Small floats under an f32 scale of 32 numbers: e4m3, e5m2, nf4, fp4. For four vectors of lanes.
template <DType kType, int kLanes>
int64_t packed_scaled_float_bytes(int64_t k);
template <DType kType, int kLanes>
void pack_scaled_float_group(std::byte* group, const std::byte* const* rows, int64_t k);

// bf16 with two neighbouring numbers of a lane side by side, an odd last one beside a zero.
template <int kLanes>
int64_t packed_bf16_pair_bytes(int64_t k);
template <int kLanes>
void pack_bf16_pairs(std::byte* group, const std::byte* const* rows, int64_t k);

// f16 in the same way, each number rounded to bf16: 3 of its 10 bits after the point are lost, and
// nothing overflows.
template <int kLanes>
void pack_f16_as_bf16_pairs(std::byte* group, const std::byte* const* rows, int64_t k);

// q8_0 with every number stored as value + 128, for dot products of unsigned by signed bytes.
void pack_q8_0_offset_16(std::byte* group, const std::byte* const* rows, int64_t k);

// a8_f32 with the file's bytes, for the same products; pack_group has them less 128.
template <int kLanes>
void pack_unsigned_a8_f32(std::byte* group, const std::byte* const* rows, int64_t k);

}  // namespace ruv
