// Writing codes of one block and lane into planes (pack/layout.h). A block's 32 codes are handled
// as 8 words of 4 bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace ruv {

// 32 codes of one block, one byte each.
struct BlockCodes {
  uint8_t code[32];

  uint32_t word(int j) const {
    uint32_t w;
    std::memcpy(&w, code + 4 * j, 4);
    return w;
  }
};

// One lane of vectors of 4·kLanes bytes.
template <int kLanes>
class LaneVectors {
 public:
  LaneVectors(std::byte* first, int lane) : at_(first + 4 * lane) {}
  void put(int vector, uint32_t word) const { std::memcpy(at_ + vector * 4 * kLanes, &word, 4); }

  void bytes(const BlockCodes& c, uint32_t flip) const {
    for (int j = 0; j < 8; ++j) put(j, c.word(j) ^ flip);
  }
  void nibbles(const BlockCodes& c) const {
    constexpr uint32_t kMask = 0x0F0F0F0F;
    for (int j = 0; j < 4; ++j) put(j, (c.word(j) & kMask) | (c.word(j + 4) & kMask) << 4);
  }
  // Bits shift, shift+1 of every code, into vectors first, first+1.
  void pairs(const BlockCodes& c, int first, int shift) const {
    for (int v = 0; v < 2; ++v) {
      uint32_t word = 0;
      for (int t = 0; t < 4; ++t) word |= ((c.word(4 * v + t) >> shift) & 0x03030303U) << (2 * t);
      put(first + v, word);
    }
  }
  // Bit `shift` of every code, into one vector.
  void bits(const BlockCodes& c, int vector, int shift) const {
    uint32_t word = 0;
    for (int t = 0; t < 8; ++t) word |= ((c.word(t) >> shift) & 0x01010101U) << t;
    put(vector, word);
  }

 private:
  std::byte* at_;
};

}  // namespace ruv
