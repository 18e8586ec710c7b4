// Entry j of a super-block of the IQ formats, whatever its layout: which magnitudes or digits,
// which signs, which scale. Decoders and packers read blocks by these.
#pragma once

#include "tensor/formats/iq1.h"
#include "tensor/formats/iq2.h"
#include "tensor/formats/iq3.h"
#include "tensor/formats/iq_grids.h"

namespace ruv {

struct IqEntry {
  uint16_t indices;  // as in the tables of iq_grids.h
  uint8_t signs;     // bit i: number i is negative. IQ1: not 0 where the digits are moved down
  int scale;         // as stored
};

// The f16 scale of IQ1_M is split over the top four bits of the four words of `scales`.
inline uint16_t scale_of(const BlockIQ1_M& block) {
  int bits = 0;
  for (int k = 0; k < 4; ++k) bits |= (block.scales[k] >> 12) << (4 * k);
  return static_cast<uint16_t>(bits);
}

// Entries of eight numbers, j in [0, 32). IQ1_S: eleven bits of entry, three of them in a word that
// four entries share with a scale and the side to which digits are moved.
inline IqEntry entry_of(const BlockIQ1_S& block, int j) {
  const int high = block.high[j / 4];
  const int entry = block.q[j] | (((high >> (j % 4 * 3)) & 7) << 8);
  return {kGridIq1S[entry], static_cast<uint8_t>(high >> 15), (high >> 12) & 7};
}
// IQ1_M: the same bits, a nibble for each entry, and scales of 16 numbers.
inline IqEntry entry_of(const BlockIQ1_M& block, int j) {
  const int nibble = block.high[j / 2] >> (j % 2 * 4);
  const int scale = (block.scales[j / 8] >> (j / 2 % 4 * 3)) & 7;
  return {kGridIq1S[block.q[j] | ((nibble & 7) << 8)], static_cast<uint8_t>(nibble & 8), scale};
}
// IQ2_XXS: four entries of a byte, then their signs and scale in 32 bits.
inline IqEntry entry_of(const BlockIQ2_XXS& block, int j) {
  const uint16_t* q = block.q + j / 4 * 4;
  const uint32_t extra = q[2] | (static_cast<uint32_t>(q[3]) << 16);
  const int entry = (q[j % 4 / 2] >> (8 * (j % 2))) & 0xFF;
  const uint8_t signs = even_signs((extra >> (7 * (j % 4))) & 0x7F);
  return {kGridIq2Xxs[entry], signs, static_cast<int>(extra >> 28)};
}
// IQ2_XS: nine bits of entry under seven of signs.
inline IqEntry entry_of(const BlockIQ2_XS& block, int j) {
  const int scale = (block.scales[j / 4] >> (j / 2 % 2 * 4)) & 0xF;
  return {kGridIq2Xs[block.q[j] & 511], even_signs(block.q[j] >> 9), scale};
}
// IQ2_S: ten bits of entry, and all eight signs.
inline IqEntry entry_of(const BlockIQ2_S& block, int j) {
  const int entry = block.q[j] | (((block.high[j / 4] >> (j % 4 * 2)) & 3) << 8);
  const int scale = (block.scales[j / 4] >> (j / 2 % 2 * 4)) & 0xF;
  return {kGridIq2S[entry], block.signs[j], scale};
}

// Entries of four numbers, j in [0, 64): four signs. IQ3_XXS: of eight numbers' seven sign bits the
// even entry has the lower four.
inline IqEntry entry_of(const BlockIQ3_XXS& block, int j) {
  const uint16_t* halves = block.signs_and_scales + j / 8 * 2;
  const uint32_t extra = halves[0] | (static_cast<uint32_t>(halves[1]) << 16);
  const uint8_t signs = even_signs((extra >> (j % 8 / 2 * 7)) & 0x7F);
  return {kGridIq3Xxs[block.q[j]], static_cast<uint8_t>(signs >> (j % 2 * 4) & 0xF),
          static_cast<int>(extra >> 28)};
}
// IQ3_S: nine bits of entry, and all signs.
inline IqEntry entry_of(const BlockIQ3_S& block, int j) {
  const int scale = (block.scales[j / 16] >> (j / 8 % 2 * 4)) & 0xF;
  const int entry = block.q[j] | (((block.high[j / 8] >> (j % 8)) & 1) << 8);
  return {kGridIq3S[entry], static_cast<uint8_t>(block.signs[j / 2] >> (j % 2 * 4) & 0xF), scale};
}

}  // namespace ruv
