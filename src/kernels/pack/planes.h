// Writing codes of one block and lane into planes (pack/layout.h). A block's 32 codes are 8 words
// of 4 bytes, and reading, shifting and masking go by words.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace ruv {

inline constexpr uint32_t kNibbles = 0x0F0F0F0F;
inline constexpr uint32_t kPairs = 0x03030303;
inline constexpr uint32_t kBits = 0x01010101;

inline uint32_t word_at(const std::byte* p) {
  uint32_t word;
  std::memcpy(&word, p, 4);
  return word;
}

// 32 codes of one block, one byte each: word[j] holds numbers 4j..4j+3.
struct BlockCodes {
  uint32_t word[8];

  // 16 bytes of nibbles: number i in the low half of byte i, number i + 16 in the high half.
  void read_nibbles(const std::byte* p) {
    for (int j = 0; j < 4; ++j) {
      const uint32_t both = word_at(p + 4 * j);
      word[j] = both & kNibbles;
      word[j + 4] = (both >> 4) & kNibbles;
    }
  }
};

// Bytes of one group of kLanes rows of k numbers in chunks of a layout; the last chunk may have
// fewer blocks, and has a whole header. Requires: k a multiple of 32.
template <class Layout, int kLanes>
constexpr int64_t packed_chunk_bytes(int64_t k) {
  const int64_t blocks = k / 32;
  const int64_t chunks = (blocks + Layout::kBlocksPerChunk - 1) / Layout::kBlocksPerChunk;
  return (chunks * Layout::kHeaderVectors + blocks * Layout::kBlockVectors) * 4 * kLanes;
}

// One lane of vectors of 4·kLanes bytes.
template <int kLanes>
class LaneVectors {
 public:
  LaneVectors(std::byte* first, int lane) : at_(first + 4 * lane) {}
  void put(int vector, uint32_t word) const { std::memcpy(at_ + vector * 4 * kLanes, &word, 4); }

  void bytes(const BlockCodes& c, uint32_t flip) const {
    for (int j = 0; j < 8; ++j) put(j, c.word[j] ^ flip);
  }
  void nibbles(const BlockCodes& c) const {
    for (int j = 0; j < 4; ++j) put(j, (c.word[j] & kNibbles) | (c.word[j + 4] & kNibbles) << 4);
  }
  // Bits shift, shift+1 of every code, into vectors first, first+1.
  void pairs(const BlockCodes& c, int first, int shift) const {
    for (int v = 0; v < 2; ++v) {
      uint32_t word = 0;
      for (int t = 0; t < 4; ++t) word |= ((c.word[4 * v + t] >> shift) & kPairs) << (2 * t);
      put(first + v, word);
    }
  }
  // Bit `shift` of every code, into one vector.
  void bits(const BlockCodes& c, int vector, int shift) const {
    uint32_t word = 0;
    for (int t = 0; t < 8; ++t) word |= ((c.word[t] >> shift) & kBits) << t;
    put(vector, word);
  }

 private:
  std::byte* at_;
};

}  // namespace ruv
