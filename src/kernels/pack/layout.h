// Packed layouts: how a group of kLanes weight rows lies in memory. Rows are interleaved so that
// one load brings 4 neighbouring numbers of every row, which is what int8 dot products consume.
// Plain constants only: the packers (plain C++) and the kernels (one object per instruction set)
// share it.
//
// A vector is 4·kLanes bytes; bytes 4r..4r+3 belong to row ("lane") r. A block is 32 numbers along
// K. Word j of a block is its numbers 4j..4j+3, so a block of 8-bit codes is 8 vectors, word j of
// every row in vector j. Narrower codes share vectors ("planes"):
//   nibbles  4 vectors  vector j: word j in bits 0-3, word j+4 in bits 4-7
//   pairs    2 vectors  vector v: word 4v+t in bits 2t, 2t+1
//   bits     1 vector   word t in bit t
//
// 32-number formats, chunk of 2 blocks (an odd last block makes a chunk of one; its header is
// whole):
//   header   1 vector   scales f16, kLanes of block 0 then kLanes of block 1
//            1 vector   minimums f16 the same way                            (q4_1, q5_1)
//            1 vector   zeros, negative, f16 the same way                    (a4)
//   block    8 vectors  bytes                                                (q8_0)
//            4 vectors  nibbles                               (q4_0, q4_1, iq4_nl, a4)
//            5 vectors  nibbles, bits (fifth bit)                            (q5_0, q5_1)
//
// 32-number formats whose scales are not f16:
//   a4_f32, a8_f32  chunk of 1: scale f32 | -scale · zero f32 | nibbles, or bytes less 128
//   e2m1            chunk of 1: half the scale of numbers 0-15, f32 | of 16-31 | nibbles
//   nvfp4           chunk of 2: 4·kLanes scales e4m3, two for each block | 2 x nibbles
//   mxfp4           chunk of 4: 4·kLanes exponents, less 1 but not below 0 | 4 x nibbles
//
// 256-number formats, chunk of 8 blocks:
//   q4_k, q5_k  d, dmin f16 | 8·kLanes scales u8 | 8·kLanes minimums u8 | 8 x nibbles [bits]
//   q2_k        d, dmin f16 | 16·kLanes bytes: scale bits 0-3, minimum bits 4-7 | 8 x pairs
//   q6_k        d f32 | 16·kLanes scales s8 | 8 x nibbles, 2 vectors of pairs (bits 4, 5)
//   q3_k        d f32 | 8·kLanes: scale s bits 0-3, s+8 bits 4-7 | 4·kLanes: bits 4, 5 of scale s
//               in byte row s mod 4 at bit 2·(s/4); less 32 | 8 x pairs, bits (third bit)
//   iq4_xs      d f32 | 8·kLanes scales s8 | 8 x nibbles
//   tq1_0, tq2_0           d f32 | 8 x pairs, digits 0-2
//   iq1_s                  d f32 | 8·kLanes scales s8, the sign is the shift's | 8 x pairs
//   iq2_xxs                d / 8 f32 | 8·kLanes scales u8 | 8 x pairs, bits
//   iq1_m, iq2_xs, iq2_s   d / 8 f32 | 16·kLanes scales u8 | 8 x pairs, bits
//   iq3_xxs, iq3_s         d / 4, d f32 | 8·kLanes scales u8 | 8 x nibbles
//
// The codebooks are looked up as these are packed: a code is the place of a number in a table of
// the few levels that the book has, its sign included (generic/codebooks.inc.h). That costs up to
// twice the file's memory, and lets a product be as cheap as that of q3_k.
//
// Float formats: number k of every lane side by side, k = 0, 1, …; padded to 64 bytes. A lane row
// is four vectors wide (pack is instantiated for 4 · kLanes lanes). Small floats under a scale, in
// chunks of 32 numbers: scales f32, then codes of a byte, or of two numbers 16 apart (nf4, fp4).
#pragma once

namespace ruv {

// Part of the name of packed-weights files; changed with any layout below.
inline constexpr int kPackedLayoutVersion = 3;

// In vectors.
template <int kHeader, int kBlock, int kBlocks>
struct PackedChunk {
  static constexpr int kHeaderVectors = kHeader;
  static constexpr int kBlockVectors = kBlock;
  static constexpr int kBlocksPerChunk = kBlocks;
  static constexpr int kVectors = kHeader + kBlocks * kBlock;
};

using PackedQ8_0 = PackedChunk<1, 8, 2>;
using PackedQ4_0 = PackedChunk<1, 4, 2>;
using PackedQ4_1 = PackedChunk<2, 4, 2>;
using PackedQ5_0 = PackedChunk<1, 5, 2>;
using PackedQ5_1 = PackedChunk<2, 5, 2>;
using PackedQ2K = PackedChunk<5, 2, 8>;
using PackedQ3K = PackedChunk<4, 3, 8>;
using PackedQ4K = PackedChunk<5, 4, 8>;
using PackedQ5K = PackedChunk<5, 5, 8>;
using PackedQ6K = PackedChunk<5, 6, 8>;
using PackedIq4Xs = PackedChunk<3, 4, 8>;
using PackedA4F32 = PackedChunk<2, 4, 1>;
using PackedA8F32 = PackedChunk<2, 8, 1>;
using PackedE2m1 = PackedChunk<2, 4, 1>;
using PackedNvfp4 = PackedChunk<1, 4, 2>;
using PackedMxfp4 = PackedChunk<1, 4, 4>;
using PackedTernary = PackedChunk<1, 2, 8>;
using PackedIq1S = PackedChunk<3, 2, 8>;
using PackedIq2Xxs = PackedChunk<3, 3, 8>;
using PackedIq2 = PackedChunk<5, 3, 8>;  // and iq1_m
using PackedIq3 = PackedChunk<3, 4, 8>;

}  // namespace ruv
