// Packs the 256-number formats: q2_k … q6_k and iq4_xs. Each reads a file's super-block into 256
// codes, then writes header and planes.
#include "kernels/pack/layout.h"
#include "kernels/pack/packing.h"
#include "kernels/pack/super_rows.h"

namespace ruv {
namespace {

// 128 bytes of nibbles, 32 bytes for every 64 numbers: low halves, then high halves.
void split_nibbles_64(const std::byte* qs, Codes& out) {
  for (int c = 0; c < 4; ++c) {
    for (int j = 0; j < 8; ++j) {
      const uint32_t both = word_at(qs + 32 * c + 4 * j);
      out[2 * c].word[j] = both & kNibbles;
      out[2 * c + 1].word[j] = (both >> 4) & kNibbles;
    }
  }
}

// 64 bytes of 2-bit codes, 32 bytes for every 128 numbers, four of 32 from low bits to high.
void split_pairs_128(const std::byte* qs, Codes& out) {
  for (int b = 0; b < 8; ++b) {
    for (int j = 0; j < 8; ++j) {
      out[b].word[j] = (word_at(qs + 32 * (b / 4) + 4 * j) >> (2 * (b % 4))) & kPairs;
    }
  }
}

// Bit b of byte i is bit `at` of number i of block b.
void add_bits(const std::byte* high, int at, Codes& out) {
  for (int b = 0; b < 8; ++b) {
    for (int j = 0; j < 8; ++j) out[b].word[j] |= ((word_at(high + 4 * j) >> b) & kBits) << at;
  }
}

// The 6-bit scales and minimums of q4_k and q5_k: 12 bytes hold 8 of each.
template <int kLanes>
void put_six_bit_scales(const std::byte* s, const Header<kLanes>& to) {
  for (int j = 0; j < 4; ++j) {
    const unsigned a = u8(s[j]);
    const unsigned b = u8(s[j + 4]);
    const unsigned c = u8(s[j + 8]);
    to.byte(j, static_cast<uint8_t>(a & 63U));
    to.byte(8 + j, static_cast<uint8_t>(b & 63U));
    to.byte(4 + j, static_cast<uint8_t>((c & 15U) | (a >> 6) << 4));
    to.byte(12 + j, static_cast<uint8_t>((c >> 4) | (b >> 6) << 4));
  }
}

template <DType kType>
struct SuperFormat;

template <>
struct SuperFormat<DType::q4_k> {
  using Layout = PackedQ4K;
  static constexpr int kBytes = 144;
  template <int kLanes>
  static void read(const std::byte* p, const Header<kLanes>& to, Codes& codes) {
    to.halves(p, p + 2);
    put_six_bit_scales(p + 4, to);
    split_nibbles_64(p + 16, codes);
  }
  template <int kLanes>
  static void put(const BlockCodes& c, const LaneVectors<kLanes>& to) {
    to.nibbles(c);
  }
};

template <>
struct SuperFormat<DType::q5_k> {
  using Layout = PackedQ5K;
  static constexpr int kBytes = 176;
  template <int kLanes>
  static void read(const std::byte* p, const Header<kLanes>& to, Codes& codes) {
    to.halves(p, p + 2);
    put_six_bit_scales(p + 4, to);
    split_nibbles_64(p + 48, codes);
    add_bits(p + 16, 4, codes);
  }
  template <int kLanes>
  static void put(const BlockCodes& c, const LaneVectors<kLanes>& to) {
    to.nibbles(c);
    to.bits(c, 4, 4);
  }
};

template <>
struct SuperFormat<DType::q6_k> {
  using Layout = PackedQ6K;
  static constexpr int kBytes = 210;
  template <int kLanes>
  static void read(const std::byte* p, const Header<kLanes>& to, Codes& codes) {
    to.single(f32_from_f16(u16_at(p + 208)));
    for (int s = 0; s < 16; ++s) to.byte(s, u8(p[192 + s]));
    for (int b = 0; b < 8; ++b) {
      const std::byte* low = p + 64 * (b / 4) + 32 * (b % 2);
      const std::byte* high = p + 128 + 32 * (b / 4);
      const int low_shift = b % 4 / 2 * 4;
      for (int j = 0; j < 8; ++j) {
        codes[b].word[j] = ((word_at(low + 4 * j) >> low_shift) & kNibbles) |
                           ((word_at(high + 4 * j) >> (2 * (b % 4))) & kPairs) << 4;
      }
    }
  }
  template <int kLanes>
  static void put(const BlockCodes& c, const LaneVectors<kLanes>& to) {
    to.nibbles(c);
    to.pairs(c, 4, 4);
  }
};

template <>
struct SuperFormat<DType::q2_k> {
  using Layout = PackedQ2K;
  static constexpr int kBytes = 84;
  template <int kLanes>
  static void read(const std::byte* p, const Header<kLanes>& to, Codes& codes) {
    to.halves(p + 80, p + 82);
    for (int s = 0; s < 16; ++s) to.byte(s, u8(p[s]));
    split_pairs_128(p + 16, codes);
  }
  template <int kLanes>
  static void put(const BlockCodes& c, const LaneVectors<kLanes>& to) {
    to.pairs(c, 0, 0);
  }
};

template <>
struct SuperFormat<DType::q3_k> {
  using Layout = PackedQ3K;
  static constexpr int kBytes = 110;
  template <int kLanes>
  static void read(const std::byte* p, const Header<kLanes>& to, Codes& codes) {
    to.single(f32_from_f16(u16_at(p + 108)));
    for (int s = 0; s < 12; ++s) to.byte(s, u8(p[96 + s]));
    split_pairs_128(p + 32, codes);
    add_bits(p, 2, codes);
  }
  template <int kLanes>
  static void put(const BlockCodes& c, const LaneVectors<kLanes>& to) {
    to.pairs(c, 0, 0);
    to.bits(c, 2, 2);
  }
};

template <>
struct SuperFormat<DType::iq4_xs> {
  using Layout = PackedIq4Xs;
  static constexpr int kBytes = 136;
  template <int kLanes>
  static void read(const std::byte* p, const Header<kLanes>& to, Codes& codes) {
    to.single(f32_from_f16(u16_at(p)));
    const unsigned high = u16_at(p + 2);
    for (int b = 0; b < 8; ++b) {
      const unsigned low = u8(p[4 + b / 2]) >> (4 * (b % 2)) & 15U;
      to.byte(b, static_cast<uint8_t>((low | ((high >> (2 * b)) & 3U) << 4) - 32U));
      codes[b].read_nibbles(p + 8 + 16 * b);
    }
  }
  template <int kLanes>
  static void put(const BlockCodes& c, const LaneVectors<kLanes>& to) {
    to.nibbles(c);
  }
};

}  // namespace

template <DType kType, int kLanes>
int64_t packed_super_bytes(int64_t k) {
  return packed_chunk_bytes<typename SuperFormat<kType>::Layout, kLanes>(k);
}

template <DType kType, int kLanes>
void pack_super_group(std::byte* group, const std::byte* const* rows, int64_t k) {
  pack_super_rows<SuperFormat<kType>, kLanes>(group, rows, k);
}

#define RUV_PACK(type)                                                                          \
  template int64_t packed_super_bytes<DType::type, 8>(int64_t);                                 \
  template int64_t packed_super_bytes<DType::type, 16>(int64_t);                                \
  template void pack_super_group<DType::type, 8>(std::byte*, const std::byte* const*, int64_t); \
  template void pack_super_group<DType::type, 16>(std::byte*, const std::byte* const*, int64_t);
RUV_PACK(q2_k)
RUV_PACK(q3_k)
RUV_PACK(q4_k)
RUV_PACK(q5_k)
RUV_PACK(q6_k)
RUV_PACK(iq4_xs)
#undef RUV_PACK

}  // namespace ruv
