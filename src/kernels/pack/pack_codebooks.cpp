// Packs the formats whose codes stand for a few levels: the codebooks of iq1_s … iq3_s, which are
// looked up here, ternary digits, and four-bit floats.
#include <type_traits>

#include "kernels/pack/packing.h"
#include "kernels/pack/super_rows.h"
#include "tensor/formats/iq_entries.h"
#include "tensor/formats/ternary.h"

namespace ruv {
namespace {

// Codes of one super-block, a byte each.
uint8_t* bytes_of(Codes& codes) { return reinterpret_cast<uint8_t*>(codes); }

uint8_t odd(int scale) { return static_cast<uint8_t>(2 * scale + 1); }

// Two bits of index and the sign above them. Iq1_m's sign moves all eight digits.
template <class Block, int kScales>
struct EightsFormat {
  using Layout = PackedChunk<1 + kScales / 4, 3, 8>;
  static constexpr int kBytes = sizeof(Block);
  static constexpr bool kTernary = std::is_same_v<Block, BlockIQ1_M>;

  template <int kLanes>
  static void read(const std::byte* p, const Header<kLanes>& to, Codes& codes) {
    Block block;
    std::memcpy(&block, p, sizeof block);
    if constexpr (kTernary) {
      to.single(f32_from_f16(scale_of(block)) * 0.125F);
    } else {
      to.single(f32_from_f16(block.d) * 0.125F);
    }
    uint8_t* code = bytes_of(codes);
    for (int j = 0; j < 32; ++j) {
      const IqEntry entry = entry_of(block, j);
      to.byte(j * kScales / 32, odd(entry.scale));
      const int signs = kTernary && entry.signs != 0 ? 0xFF : entry.signs;
      for (int i = 0; i < 8; ++i) {
        const int minus = signs >> i & 1;
        *code++ = static_cast<uint8_t>(grid_index_of_8(entry.indices, i) | minus << 2);
      }
    }
  }
  template <int kLanes>
  static void put(const BlockCodes& c, const LaneVectors<kLanes>& to) {
    to.pairs(c, 0, 0);
    to.bits(c, 2, 2);
  }
};

// Three bits of index and the sign above them; kPart of d is what scales count.
template <class Block>
struct FoursFormat {
  using Layout = PackedIq3;
  static constexpr int kBytes = sizeof(Block);
  static constexpr float kPart = std::is_same_v<Block, BlockIQ3_XXS> ? 0.25F : 1.0F;

  template <int kLanes>
  static void read(const std::byte* p, const Header<kLanes>& to, Codes& codes) {
    Block block;
    std::memcpy(&block, p, sizeof block);
    to.single(f32_from_f16(block.d) * kPart);
    uint8_t* code = bytes_of(codes);
    for (int j = 0; j < 64; ++j) {
      const IqEntry entry = entry_of(block, j);
      to.byte(j / 8, odd(entry.scale));
      for (int i = 0; i < 4; ++i) {
        const int minus = entry.signs >> i & 1;
        *code++ = static_cast<uint8_t>(grid_index_of_4(entry.indices, i) | minus << 3);
      }
    }
  }
  template <int kLanes>
  static void put(const BlockCodes& c, const LaneVectors<kLanes>& to) {
    to.nibbles(c);
  }
};

// Digits; where all of a scale's are moved down by an eighth, the scale is negative.
struct MovedDigits {
  using Layout = PackedIq1S;
  static constexpr int kBytes = sizeof(BlockIQ1_S);

  template <int kLanes>
  static void read(const std::byte* p, const Header<kLanes>& to, Codes& codes) {
    BlockIQ1_S block;
    std::memcpy(&block, p, sizeof block);
    to.single(f32_from_f16(block.d));
    uint8_t* code = bytes_of(codes);
    for (int j = 0; j < 32; ++j) {
      const IqEntry entry = entry_of(block, j);
      const int scale = entry.signs != 0 ? -odd(entry.scale) : odd(entry.scale);
      to.byte(j / 4, static_cast<uint8_t>(scale));
      for (int i = 0; i < 8; ++i) {
        *code++ = static_cast<uint8_t>(grid_index_of_8(entry.indices, i));
      }
    }
  }
  template <int kLanes>
  static void put(const BlockCodes& c, const LaneVectors<kLanes>& to) {
    to.pairs(c, 0, 0);
  }
};

// The decoder of a block whose scale is 1 gives digits less 1.
template <class Block, void (*kDecode)(const void*, float*, int64_t)>
struct PlainDigits {
  using Layout = PackedTernary;
  static constexpr int kBytes = sizeof(Block);

  template <int kLanes>
  static void read(const std::byte* p, const Header<kLanes>& to, Codes& codes) {
    Block block;
    std::memcpy(&block, p, sizeof block);
    to.single(f32_from_f16(block.d));
    block.d = f16_from_f32(1.0F);
    float digits[256];
    kDecode(&block, digits, 256);
    uint8_t* code = bytes_of(codes);
    for (const float digit : digits) *code++ = static_cast<uint8_t>(digit + 1.0F);
  }
  template <int kLanes>
  static void put(const BlockCodes& c, const LaneVectors<kLanes>& to) {
    to.pairs(c, 0, 0);
  }
};

// Twice 8 bytes of nibbles, `stride` bytes apart: of the codes of 16 numbers, those of the first
// half are low.
void read_halves(const std::byte* p, int stride, BlockCodes& codes) {
  for (int h = 0; h < 2; ++h, p += stride) {
    for (int j = 0; j < 2; ++j) {
      const uint32_t both = word_at(p + 4 * j);
      codes.word[4 * h + j] = both & kNibbles;
      codes.word[4 * h + j + 2] = (both >> 4) & kNibbles;
    }
  }
}

// 32-number formats: `read` gets a row, the number b of a block in it, and where the scales of its
// chunk begin for this lane.
struct Mxfp4Format {
  using Layout = PackedMxfp4;

  // Exponents count from 1: 0 and 1, whose numbers are below 2^-123, are packed alike.
  template <int kLanes>
  static void read(const std::byte* row, int64_t b, std::byte* scales, BlockCodes& codes) {
    const std::byte* p = row + 17 * b;
    const int e = u8(*p);
    scales[b % 4 * kLanes] = static_cast<std::byte>(e > 0 ? e - 1 : 0);
    codes.read_nibbles(p + 1);
  }
  template <int kLanes>
  static std::byte* lane_of(std::byte* chunk, int lane) {
    return chunk + lane;
  }
};

struct Nvfp4Format {
  using Layout = PackedNvfp4;

  template <int kLanes>
  static void read(const std::byte* row, int64_t b, std::byte* scales, BlockCodes& codes) {
    const std::byte* block = row + 36 * (b / 2);
    const auto first = static_cast<int>(b % 2 * 2);
    for (int s = first; s < first + 2; ++s) {
      const int scale = u8(block[s]) & 0x7F;
      scales[s * kLanes] = static_cast<std::byte>(scale == 0x7F ? 0 : scale);
    }
    read_halves(block + 4 + 8 * first, 8, codes);
  }
  template <int kLanes>
  static std::byte* lane_of(std::byte* chunk, int lane) {
    return chunk + lane;
  }
};

struct E2m1Format {
  using Layout = PackedE2m1;

  template <int kLanes>
  static void read(const std::byte* row, int64_t b, std::byte* scales, BlockCodes& codes) {
    const std::byte* p = row + 24 * b;
    for (int h = 0; h < 2; ++h) {
      float d;
      std::memcpy(&d, p + 12 * h, 4);
      d *= 0.5F;
      std::memcpy(scales + 4 * kLanes * h, &d, 4);
    }
    read_halves(p + 4, 12, codes);
  }
  template <int kLanes>
  static std::byte* lane_of(std::byte* chunk, int lane) {
    return chunk + 4 * lane;
  }
};

template <class F, int kLanes>
void pack_small_floats(std::byte* group, const std::byte* const* rows, int64_t k) {
  using Layout = typename F::Layout;
  constexpr int kVector = 4 * kLanes;
  constexpr int kChunk = Layout::kBlocksPerChunk;
  std::memset(group, 0, static_cast<size_t>(packed_chunk_bytes<Layout, kLanes>(k)));
  for (int64_t b = 0; b < k / 32; ++b) {
    std::byte* chunk = group + b / kChunk * (Layout::kVectors * kVector);
    std::byte* block =
        chunk + (Layout::kHeaderVectors + b % kChunk * Layout::kBlockVectors) * kVector;
    for (int lane = 0; lane < kLanes; ++lane) {
      if (rows[lane] == nullptr) continue;
      BlockCodes codes;
      F::template read<kLanes>(rows[lane], b, F::template lane_of<kLanes>(chunk, lane), codes);
      LaneVectors<kLanes>(block, lane).nibbles(codes);
    }
  }
}

template <DType kType>
struct CodebookOf;
template <>
struct CodebookOf<DType::iq1_s> : MovedDigits {};
template <>
struct CodebookOf<DType::iq1_m> : EightsFormat<BlockIQ1_M, 16> {};
template <>
struct CodebookOf<DType::iq2_xxs> : EightsFormat<BlockIQ2_XXS, 8> {};
template <>
struct CodebookOf<DType::iq2_xs> : EightsFormat<BlockIQ2_XS, 16> {};
template <>
struct CodebookOf<DType::iq2_s> : EightsFormat<BlockIQ2_S, 16> {};
template <>
struct CodebookOf<DType::iq3_xxs> : FoursFormat<BlockIQ3_XXS> {};
template <>
struct CodebookOf<DType::iq3_s> : FoursFormat<BlockIQ3_S> {};
template <>
struct CodebookOf<DType::tq1_0> : PlainDigits<BlockTQ1_0, decode_tq1_0> {};
template <>
struct CodebookOf<DType::tq2_0> : PlainDigits<BlockTQ2_0, decode_tq2_0> {};
template <>
struct CodebookOf<DType::mxfp4> : Mxfp4Format {};
template <>
struct CodebookOf<DType::nvfp4> : Nvfp4Format {};
template <>
struct CodebookOf<DType::e2m1> : E2m1Format {};

}  // namespace

template <DType kType, int kLanes>
int64_t packed_codebook_bytes(int64_t k) {
  return packed_chunk_bytes<typename CodebookOf<kType>::Layout, kLanes>(k);
}

template <DType kType, int kLanes>
void pack_codebook_group(std::byte* group, const std::byte* const* rows, int64_t k) {
  using F = CodebookOf<kType>;
  if constexpr (F::Layout::kBlocksPerChunk == 8) {
    pack_super_rows<F, kLanes>(group, rows, k);
  } else {
    pack_small_floats<F, kLanes>(group, rows, k);
  }
}

#define RUV_PACK(type)                                                                             \
  template int64_t packed_codebook_bytes<DType::type, 8>(int64_t);                                 \
  template int64_t packed_codebook_bytes<DType::type, 16>(int64_t);                                \
  template void pack_codebook_group<DType::type, 8>(std::byte*, const std::byte* const*, int64_t); \
  template void pack_codebook_group<DType::type, 16>(std::byte*, const std::byte* const*, int64_t);
RUV_PACK(iq1_s)
RUV_PACK(iq1_m)
RUV_PACK(iq2_xxs)
RUV_PACK(iq2_xs)
RUV_PACK(iq2_s)
RUV_PACK(iq3_xxs)
RUV_PACK(iq3_s)
RUV_PACK(tq1_0)
RUV_PACK(tq2_0)
RUV_PACK(mxfp4)
RUV_PACK(nvfp4)
RUV_PACK(e2m1)
#undef RUV_PACK

}  // namespace ruv
