// Packs the 32-number formats: q4_0, q4_1, q5_0, q5_1, q8_0, iq4_nl, and the plain float types.
#include "kernels/pack/layout.h"
#include "kernels/pack/packing.h"
#include "kernels/pack/planes.h"

namespace ruv {
namespace {

uint32_t u32_at(const std::byte* p) {
  uint32_t v;
  std::memcpy(&v, p, 4);
  return v;
}

// 16 bytes of nibbles as the files store them: number i in the low half of byte i, number i + 16 in
// the high half.
void split_nibbles(const std::byte* p, BlockCodes& out) {
  for (int i = 0; i < 16; ++i) {
    out.code[i] = static_cast<uint8_t>(p[i]) & 15U;
    out.code[i + 16] = static_cast<uint8_t>(p[i]) >> 4;
  }
}

// Number i has its fifth bit in bit i of a 32-bit word.
void add_fifth_bits(uint32_t high, BlockCodes& out) {
  for (int i = 0; i < 32; ++i) out.code[i] |= static_cast<uint8_t>(((high >> i) & 1U) << 4);
}

// How a file's block of 32 looks and where it goes. File: scale f16, [minimum f16], [fifth bits],
// codes.
template <class Packed, int kFileBytes, bool kMins, int kBits>
struct FileBlock {
  using Layout = Packed;
  static constexpr int kBytes = kFileBytes;
  static constexpr bool kHasMins = kMins;

  template <int kLanes>
  static void put(const std::byte* block, const LaneVectors<kLanes>& to, uint32_t flip) {
    const std::byte* p = block + (kMins ? 4 : 2);
    BlockCodes codes;
    if constexpr (kBits == 8) {
      std::memcpy(codes.code, p, 32);
      to.bytes(codes, flip);
    } else {
      split_nibbles(p + (kBits == 5 ? 4 : 0), codes);
      if constexpr (kBits == 5) {
        add_fifth_bits(u32_at(p), codes);
        to.bits(codes, 4, 4);
      }
      to.nibbles(codes);
    }
  }
};

template <DType kType>
struct FormatOf;
template <>
struct FormatOf<DType::q4_0> : FileBlock<PackedQ4_0, 18, false, 4> {};
template <>
struct FormatOf<DType::iq4_nl> : FileBlock<PackedQ4_0, 18, false, 4> {};
template <>
struct FormatOf<DType::q4_1> : FileBlock<PackedQ4_1, 20, true, 4> {};
template <>
struct FormatOf<DType::q5_0> : FileBlock<PackedQ5_0, 22, false, 5> {};
template <>
struct FormatOf<DType::q5_1> : FileBlock<PackedQ5_1, 24, true, 5> {};
template <>
struct FormatOf<DType::q8_0> : FileBlock<PackedQ8_0, 34, false, 8> {};

template <class F, int kLanes>
int64_t group_bytes(int64_t k) {
  const int64_t blocks = k / 32;
  return ((blocks + 1) / 2 * F::Layout::kHeaderVectors + blocks * F::Layout::kBlockVectors) * 4 *
         kLanes;
}

template <class F, int kLanes>
void pack_rows(std::byte* group, const std::byte* const* rows, int64_t k, uint32_t flip) {
  constexpr int kVector = 4 * kLanes;
  std::memset(group, 0, static_cast<size_t>(group_bytes<F, kLanes>(k)));
  for (int lane = 0; lane < kLanes; ++lane) {
    if (rows[lane] == nullptr) continue;
    for (int64_t b = 0; b < k / 32; ++b) {
      const std::byte* block = rows[lane] + b * F::kBytes;
      std::byte* header = group + b / 2 * F::Layout::kVectors * kVector;
      std::byte* scale = header + 2 * (b % 2 * kLanes + lane);
      std::memcpy(scale, block, 2);
      if (F::kHasMins) std::memcpy(scale + kVector, block + 2, 2);
      std::byte* first =
          header + (F::Layout::kHeaderVectors + b % 2 * F::Layout::kBlockVectors) * kVector;
      F::put(block, LaneVectors<kLanes>(first, lane), flip);
    }
  }
}

template <int kBytes, int kLanes>
void pack_floats(std::byte* group, const std::byte* const* rows, int64_t k) {
  for (int lane = 0; lane < kLanes; ++lane) {
    std::byte* to = group + lane * kBytes;
    for (int64_t i = 0; i < k; ++i, to += kLanes * kBytes) {
      if (rows[lane] != nullptr) {
        std::memcpy(to, rows[lane] + i * kBytes, kBytes);
      } else {
        std::memset(to, 0, kBytes);
      }
    }
  }
}

int64_t round_up_64(int64_t n) { return (n + 63) / 64 * 64; }

}  // namespace

template <DType kType, int kLanes>
int64_t packed_bytes(int64_t k) {
  if constexpr (kType == DType::f32) {
    return round_up_64(k * kLanes * 4);
  } else if constexpr (kType == DType::f16 || kType == DType::bf16) {
    return round_up_64(k * kLanes * 2);
  } else {
    return group_bytes<FormatOf<kType>, kLanes>(k);
  }
}

template <DType kType, int kLanes>
void pack_group(std::byte* group, const std::byte* const* rows, int64_t k) {
  if constexpr (kType == DType::f32) {
    pack_floats<4, kLanes>(group, rows, k);
  } else if constexpr (kType == DType::f16 || kType == DType::bf16) {
    pack_floats<2, kLanes>(group, rows, k);
  } else {
    pack_rows<FormatOf<kType>, kLanes>(group, rows, k, 0);
  }
}

void pack_q8_0_offset_16(std::byte* group, const std::byte* const* rows, int64_t k) {
  pack_rows<FormatOf<DType::q8_0>, 16>(group, rows, k, 0x80808080U);
}

#define RUV_PACK(type)                                                                    \
  template int64_t packed_bytes<DType::type, 8>(int64_t);                                 \
  template int64_t packed_bytes<DType::type, 16>(int64_t);                                \
  template void pack_group<DType::type, 8>(std::byte*, const std::byte* const*, int64_t); \
  template void pack_group<DType::type, 16>(std::byte*, const std::byte* const*, int64_t);
RUV_PACK(f32)
RUV_PACK(f16)
RUV_PACK(bf16)
RUV_PACK(q4_0)
RUV_PACK(q4_1)
RUV_PACK(q5_0)
RUV_PACK(q5_1)
RUV_PACK(q8_0)
RUV_PACK(iq4_nl)

}  // namespace ruv
