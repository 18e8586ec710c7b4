// Distances by NEON with dot products of bytes.
#include "kernels/arm/neon.inc.h"
#include "kernels/distance_tables.h"
#include "kernels/generic/distances.inc.h"

namespace ruv {
namespace {

void dot_int8(const int8_t* query, const int8_t* const* rows, int64_t n_rows, int64_t n,
              int32_t* out) {
  each_vector(rows, n_rows, n, [&](const int8_t* row, int64_t i) {
    int32x4_t sums[4] = {};
    for (int64_t j = 0; j < n; j += 64) {
      RUV_UNROLL
      for (int v = 0; v < 4; ++v) {
        sums[v] = vdotq_s32(sums[v], vld1q_s8(query + j + 16 * v), vld1q_s8(row + j + 16 * v));
      }
    }
    out[i] = vaddvq_s32(vaddq_s32(vaddq_s32(sums[0], sums[1]), vaddq_s32(sums[2], sums[3])));
  });
}

void dot_int4(const int8_t* query, const uint8_t* const* rows, int64_t n_rows, int64_t n,
              int32_t* out) {
  each_vector(rows, n_rows, n / 2, [&](const uint8_t* row, int64_t i) {
    int32x4_t sums[4] = {};
    const int8x16_t offset = vdupq_n_s8(8);
    for (int64_t j = 0; j < n; j += 64) {
      RUV_UNROLL
      for (int v = 0; v < 2; ++v) {
        const uint8x16_t both = vld1q_u8(row + j / 2 + 16 * v);
        const int8x16_t low = vreinterpretq_s8_u8(vandq_u8(both, vdupq_n_u8(15)));
        const int8x16_t high = vreinterpretq_s8_u8(vshrq_n_u8(both, 4));
        sums[v] = vdotq_s32(sums[v], vsubq_s8(low, offset), vld1q_s8(query + j + 16 * v));
        sums[2 + v] =
            vdotq_s32(sums[2 + v], vsubq_s8(high, offset), vld1q_s8(query + j + 32 + 16 * v));
      }
    }
    out[i] = vaddvq_s32(vaddq_s32(vaddq_s32(sums[0], sums[1]), vaddq_s32(sums[2], sums[3])));
  });
}

}  // namespace

constinit const DistanceKernels kNeonDistances = [] {
  DistanceKernels table = distance_table<Neon>("neon");
  table.dot_int8 = dot_int8;
  table.dot_int4 = dot_int4;
  return table;
}();

}  // namespace ruv
