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
//            4 vectors  nibbles                                              (q4_0, q4_1, iq4_nl,
//            a4) 5 vectors  nibbles, bits (fifth bit)                            (q5_0, q5_1)
//
// 256-number formats, chunk of 8 blocks:
//   q4_k, q5_k  d, dmin f16 | 8·kLanes scales u8 | 8·kLanes minimums u8 | 8 x nibbles [bits]
//   q2_k        d, dmin f16 | 16·kLanes bytes: scale bits 0-3, minimum bits 4-7 | 8 x pairs
//   q6_k        d f32 | 16·kLanes scales s8 | 8 x nibbles, 2 vectors of pairs (bits 4, 5)
//   q3_k        d f32 | 8·kLanes: scale s bits 0-3, s+8 bits 4-7 | 4·kLanes: bits 4, 5 of scale s
//   in
//               byte row s mod 4 at bit 2·(s/4); less 32 | 8 x pairs, bits (third bit)
//   iq4_xs      d f32 | 8·kLanes scales s8 | 8 x nibbles
//
// Float formats: number k of every lane side by side, k = 0, 1, …; padded to 64 bytes. A lane row
// is four vectors wide (pack is instantiated for 4 · kLanes lanes).
#pragma once

namespace ruv {

// Part of the name of packed-weights files; changed with any layout below.
inline constexpr int kPackedLayoutVersion = 2;

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

}  // namespace ruv
