// Packs small floats under an f32 scale: e4m3, e5m2, nf4, fp4.
#include <algorithm>
#include <cstring>
#include <limits>

#include "kernels/pack/packing.h"
#include "tensor/formats/float8.h"
#include "tensor/formats/levels.h"

namespace ruv {
namespace {

template <DType kType>
struct ScaledCodes {
  static constexpr bool kNibbles = kType == DType::nf4 || kType == DType::fp4;
  static constexpr int kBytes = kNibbles ? sizeof(BlockLevels::q) : sizeof(BlockFloat8::q);
  // Codes from this magnitude on are infinity or NaN.
  static constexpr uint8_t kEnd = kType == DType::e4m3 ? 0x7F : 0x7C;
};

// Kernels take every code for a finite number. One that is infinity or NaN makes the sum of its row
// infinity or NaN, and a scale of NaN makes it NaN.
template <DType kType>
float scale_of_block(float d, const uint8_t* codes) {
  using Codes = ScaledCodes<kType>;
  if constexpr (!Codes::kNibbles) {
    const auto is_finite = [](uint8_t code) { return (code & 0x7F) < Codes::kEnd; };
    if (!std::all_of(codes, codes + Codes::kBytes, is_finite)) {
      return std::numeric_limits<float>::quiet_NaN();
    }
  }
  return d;
}

}  // namespace

template <DType kType, int kLanes>
int64_t packed_scaled_float_bytes(int64_t k) {
  return k / 32 * (4 + ScaledCodes<kType>::kBytes) * kLanes;
}

template <DType kType, int kLanes>
void pack_scaled_float_group(std::byte* group, const std::byte* const* rows, int64_t k) {
  constexpr int kCodes = ScaledCodes<kType>::kBytes;
  std::memset(group, 0, static_cast<size_t>(packed_scaled_float_bytes<kType, kLanes>(k)));
  for (int64_t b = 0; b < k / 32; ++b, group += (4 + kCodes) * kLanes) {
    for (int lane = 0; lane < kLanes; ++lane) {
      if (rows[lane] == nullptr) continue;
      const std::byte* block = rows[lane] + b * (4 + kCodes);
      uint8_t codes[kCodes];
      float d;
      std::memcpy(&d, block, 4);
      std::memcpy(codes, block + 4, kCodes);
      d = scale_of_block<kType>(d, codes);
      std::memcpy(group + 4 * lane, &d, 4);
      for (int j = 0; j < kCodes; ++j) {
        group[(4 + j) * kLanes + lane] = static_cast<std::byte>(codes[j]);
      }
    }
  }
}

#define RUV_PACK(type, lanes)                                                                    \
  template int64_t packed_scaled_float_bytes<DType::type, lanes>(int64_t);                       \
  template void pack_scaled_float_group<DType::type, lanes>(std::byte*, const std::byte* const*, \
                                                            int64_t);
RUV_PACK(e4m3, 32)
RUV_PACK(e4m3, 64)
RUV_PACK(e5m2, 32)
RUV_PACK(e5m2, 64)
RUV_PACK(nf4, 32)
RUV_PACK(nf4, 64)
RUV_PACK(fp4, 32)
RUV_PACK(fp4, 64)
#undef RUV_PACK

}  // namespace ruv
