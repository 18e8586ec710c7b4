// The packing that Q5_0 and Q5_1 share: the low four bits of numbers j and j + 16 in one byte, the
// fifth bits in a bit field of their own.
#pragma once

#include <cstdint>

namespace ruv {

// The level of number j. Requires: 0 <= j < 32.
template <class Block>
int five_bits_at(const Block& block, int j) {
  const int nibble = j < 16 ? block.q[j] & 0xF : block.q[j - 16] >> 4;
  return nibble | (((block.high[j / 8] >> (j % 8)) & 1) << 4);
}

// Stores the level of number j. Requires: the block's bits of number j are zero; 0 <= level < 32.
template <class Block>
void put_five_bits(Block& block, int j, int level) {
  uint8_t& packed = block.q[j % 16];
  packed = static_cast<uint8_t>(packed | ((level & 0xF) << (j < 16 ? 0 : 4)));
  uint8_t& high = block.high[j / 8];
  high = static_cast<uint8_t>(high | ((level >> 4) << (j % 8)));
}

}  // namespace ruv
