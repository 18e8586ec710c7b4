// Packs the 32-number formats of integers (q4_0 … q8_0, iq4_nl, a4, a4_f32, a8_f32) and the plain
// float types.
#include <bit>
#include <cstring>

#include "kernels/pack/layout.h"
#include "kernels/pack/packing.h"
#include "kernels/pack/planes.h"
#include "tensor/half.h"

namespace ruv {
namespace {

// Number i has its fifth bit in bit i of a 32-bit word. The product copies four bits to the lowest
// bits of four bytes.
void add_fifth_bits(uint32_t high, BlockCodes& out) {
  for (int j = 0; j < 8; ++j) {
    const uint32_t four = (high >> (4 * j)) & 15U;
    out.word[j] |= ((four * 0x00204081U) & kBits) << 4;
  }
}

// How a file's block of 32 looks and where it goes. File: scale f16, [minimum f16], [fifth bits],
// codes.
template <class Packed, int kFileBytes, bool kMins, int kCodeBits>
struct FileBlock {
  using Layout = Packed;
  static constexpr int kBytes = kFileBytes;
  static constexpr int kScaleBytes = 2;

  static void put_header(const std::byte* block, std::byte* scale, std::byte* minimum) {
    std::memcpy(scale, block, 2);
    if constexpr (kMins) std::memcpy(minimum, block + 2, 2);
  }
  template <int kLanes>
  static void put(const std::byte* block, const LaneVectors<kLanes>& to, uint32_t flip) {
    const std::byte* p = block + (kMins ? 4 : 2);
    BlockCodes codes;
    if constexpr (kCodeBits == 8) {
      std::memcpy(codes.word, p, 32);
      to.bytes(codes, flip);
    } else {
      codes.read_nibbles(p + (kCodeBits == 5 ? 4 : 0));
      if constexpr (kCodeBits == 5) {
        add_fifth_bits(word_at(p), codes);
        to.bits(codes, 4, 4);
      }
      to.nibbles(codes);
    }
  }
};

// File: scale f16, zero as a byte, codes.
struct ZeroBlock {
  using Layout = PackedQ4_1;
  static constexpr int kBytes = 19;
  static constexpr int kScaleBytes = 2;

  static void put_header(const std::byte* block, std::byte* scale, std::byte* minimum) {
    std::memcpy(scale, block, 2);
    const uint16_t zero = f16_from_f32(-static_cast<float>(block[2]));
    std::memcpy(minimum, &zero, 2);
  }
  template <int kLanes>
  static void put(const std::byte* block, const LaneVectors<kLanes>& to, uint32_t /*flip*/) {
    BlockCodes codes;
    codes.read_nibbles(block + 3);
    to.nibbles(codes);
  }
};

// File: scale f32, zero f32, codes. Bytes are packed less 128.
template <class Packed, int kCodeBits>
struct AffineBlock {
  using Layout = Packed;
  static constexpr int kBytes = 8 + 4 * kCodeBits;
  static constexpr int kScaleBytes = 4;
  static constexpr float kLess = kCodeBits == 8 ? 128.0F : 0.0F;

  static void put_header(const std::byte* block, std::byte* scale, std::byte* minimum) {
    float d;
    float zero;
    std::memcpy(&d, block, 4);
    std::memcpy(&zero, block + 4, 4);
    const float least = d * (kLess - zero);
    std::memcpy(scale, &d, 4);
    std::memcpy(minimum, &least, 4);
  }
  template <int kLanes>
  static void put(const std::byte* block, const LaneVectors<kLanes>& to, uint32_t flip) {
    BlockCodes codes;
    if constexpr (kCodeBits == 8) {
      std::memcpy(codes.word, block + 8, 32);
      to.bytes(codes, flip);
    } else {
      codes.read_nibbles(block + 8);
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
struct FormatOf<DType::a4> : ZeroBlock {};
template <>
struct FormatOf<DType::q5_0> : FileBlock<PackedQ5_0, 22, false, 5> {};
template <>
struct FormatOf<DType::q5_1> : FileBlock<PackedQ5_1, 24, true, 5> {};
template <>
struct FormatOf<DType::q8_0> : FileBlock<PackedQ8_0, 34, false, 8> {};
template <>
struct FormatOf<DType::a4_f32> : AffineBlock<PackedA4F32, 4> {};
template <>
struct FormatOf<DType::a8_f32> : AffineBlock<PackedA8F32, 8> {};

// Chunk by chunk over all lanes, so that what is written stays in the first-level cache.
template <class F, int kLanes>
void pack_rows(std::byte* group, const std::byte* const* rows, int64_t k, uint32_t flip) {
  using Layout = typename F::Layout;
  constexpr int kVector = 4 * kLanes;
  std::byte* const end = group + packed_chunk_bytes<Layout, kLanes>(k);
  constexpr int kChunk = Layout::kBlocksPerChunk;
  constexpr int64_t kChunkBytes = int64_t{Layout::kVectors} * kVector;
  for (int64_t b = 0; b < k / 32; b += kChunk, group += kChunkBytes) {
    const int n = static_cast<int>(k / 32 - b < kChunk ? k / 32 - b : kChunk);
    std::memset(group, 0, static_cast<size_t>(n == kChunk ? kChunkBytes : end - group));
    for (int lane = 0; lane < kLanes; ++lane) {
      if (rows[lane] == nullptr) continue;
      for (int i = 0; i < n; ++i) {
        const std::byte* block = rows[lane] + (b + i) * F::kBytes;
        std::byte* scale = group + F::kScaleBytes * (i * kLanes + lane);
        F::put_header(block, scale, scale + kVector);
        std::byte* first = group + (Layout::kHeaderVectors + i * Layout::kBlockVectors) * kVector;
        F::put(block, LaneVectors<kLanes>(first, lane), flip);
      }
    }
  }
}

template <int kBytes, int kLanes>
void pack_floats(std::byte* group, const std::byte* const* rows, int64_t k) {
  constexpr int64_t kRun = 32;  // numbers of one row at a time: short, to stay in the cache
  for (int64_t from = 0; from < k; from += kRun) {
    const int64_t n = k - from < kRun ? k - from : kRun;
    for (int lane = 0; lane < kLanes; ++lane) {
      std::byte* to = group + (from * kLanes + lane) * kBytes;
      for (int64_t i = 0; i < n; ++i, to += kLanes * kBytes) {
        if (rows[lane] != nullptr) {
          std::memcpy(to, rows[lane] + (from + i) * kBytes, kBytes);
        } else {
          std::memset(to, 0, kBytes);
        }
      }
    }
  }
}

constexpr uint32_t kSignBits = 0x80808080U;

int64_t round_up_64(int64_t n) { return (n + 63) / 64 * 64; }

}  // namespace

template <DType kType, int kLanes>
int64_t packed_bytes(int64_t k) {
  if constexpr (kType == DType::f32) {
    return round_up_64(k * kLanes * 4);
  } else if constexpr (kType == DType::f16 || kType == DType::bf16) {
    return round_up_64(k * kLanes * 2);
  } else {
    return packed_chunk_bytes<typename FormatOf<kType>::Layout, kLanes>(k);
  }
}

template <DType kType, int kLanes>
void pack_group(std::byte* group, const std::byte* const* rows, int64_t k) {
  if constexpr (kType == DType::f32) {
    pack_floats<4, kLanes>(group, rows, k);
  } else if constexpr (kType == DType::f16 || kType == DType::bf16) {
    pack_floats<2, kLanes>(group, rows, k);
  } else {
    constexpr uint32_t kFlip = kType == DType::a8_f32 ? kSignBits : 0;
    pack_rows<FormatOf<kType>, kLanes>(group, rows, k, kFlip);
  }
}

template <int kLanes>
int64_t packed_bf16_pair_bytes(int64_t k) {
  return (k + 1) / 2 * kLanes * 4;
}

// f32_from_f16 without branches, so that a loop of it is vectorised. No float32 in it is subnormal:
// some processors take a hundred cycles for one.
float widened(uint16_t bits) {
  const auto all_if = [](bool condition) { return 0U - static_cast<uint32_t>(condition); };
  const uint32_t magnitude = bits & 0x7FFFU;
  const uint32_t shifted = magnitude << 13;
  // Exponent 0 means mantissa · 2^-24, which is (2^-14 + that) - 2^-14.
  const float above = std::bit_cast<float>(shifted + (113U << 23));
  const auto subnormal = std::bit_cast<uint32_t>(above - 0x1p-14F);
  const uint32_t is_subnormal = all_if(magnitude < 0x0400U);
  const uint32_t normal = (shifted + (112U << 23)) | (all_if(magnitude >= 0x7C00U) & 0x7F800000U);
  const uint32_t sign = static_cast<uint32_t>(bits & 0x8000U) << 16;
  return std::bit_cast<float>(sign | (subnormal & is_subnormal) | (normal & ~is_subnormal));
}

// Numbers of 16 bits. convert(run) changes those of one row in place.
template <int kLanes, class Convert>
void pack_pairs(std::byte* group, const std::byte* const* rows, int64_t k, Convert convert) {
  constexpr int64_t kRun = 32;  // numbers of one row at a time: short, to stay in the cache
  for (int64_t from = 0; from < k; from += kRun) {
    const int64_t n = k - from < kRun ? k - from : kRun;
    for (int lane = 0; lane < kLanes; ++lane) {
      uint16_t run[kRun] = {};
      if (rows[lane] != nullptr) {
        std::memcpy(run, rows[lane] + from * 2, static_cast<size_t>(n * 2));
        convert(run);
      }
      std::byte* to = group + (from / 2 * kLanes + lane) * 4;
      for (int64_t i = 0; i < n; i += 2, to += kLanes * 4) std::memcpy(to, run + i, 4);
    }
  }
}

template <int kLanes>
void pack_bf16_pairs(std::byte* group, const std::byte* const* rows, int64_t k) {
  pack_pairs<kLanes>(group, rows, k, [](auto& /*run*/) {});
}

template <int kLanes>
void pack_f16_as_bf16_pairs(std::byte* group, const std::byte* const* rows, int64_t k) {
  pack_pairs<kLanes>(group, rows, k, [](auto& run) {
    for (uint16_t& bits : run) bits = bf16_from_f32(widened(bits));
  });
}
template int64_t packed_bf16_pair_bytes<64>(int64_t);
template void pack_bf16_pairs<64>(std::byte*, const std::byte* const*, int64_t);
template void pack_f16_as_bf16_pairs<64>(std::byte*, const std::byte* const*, int64_t);

void pack_q8_0_offset_16(std::byte* group, const std::byte* const* rows, int64_t k) {
  pack_rows<FormatOf<DType::q8_0>, 16>(group, rows, k, kSignBits);
}

template <int kLanes>
void pack_unsigned_a8_f32(std::byte* group, const std::byte* const* rows, int64_t k) {
  pack_rows<FormatOf<DType::a8_f32>, kLanes>(group, rows, k, 0);
}
template void pack_unsigned_a8_f32<8>(std::byte*, const std::byte* const*, int64_t);
template void pack_unsigned_a8_f32<16>(std::byte*, const std::byte* const*, int64_t);

#define RUV_PACK_FLOATS(type)                                                              \
  template int64_t packed_bytes<DType::type, 32>(int64_t);                                 \
  template int64_t packed_bytes<DType::type, 64>(int64_t);                                 \
  template void pack_group<DType::type, 32>(std::byte*, const std::byte* const*, int64_t); \
  template void pack_group<DType::type, 64>(std::byte*, const std::byte* const*, int64_t);
RUV_PACK_FLOATS(f32)
RUV_PACK_FLOATS(f16)
RUV_PACK_FLOATS(bf16)

#define RUV_PACK(type)                                                                    \
  template int64_t packed_bytes<DType::type, 8>(int64_t);                                 \
  template int64_t packed_bytes<DType::type, 16>(int64_t);                                \
  template void pack_group<DType::type, 8>(std::byte*, const std::byte* const*, int64_t); \
  template void pack_group<DType::type, 16>(std::byte*, const std::byte* const*, int64_t);
RUV_PACK(q4_0)
RUV_PACK(q4_1)
RUV_PACK(q5_0)
RUV_PACK(q5_1)
RUV_PACK(q8_0)
RUV_PACK(iq4_nl)
RUV_PACK(a4)
RUV_PACK(a4_f32)
RUV_PACK(a8_f32)
#undef RUV_PACK

}  // namespace ruv
