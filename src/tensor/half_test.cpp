// The 16-bit floats over all their values and at the rounding borders.
#include "tensor/half.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace ruv {
namespace {

// The value of f16 bits, from the definition of the format.
double f16_by_definition(uint32_t bits) {
  const double sign = (bits & 0x8000U) != 0 ? -1.0 : 1.0;
  const int exponent = static_cast<int>((bits >> 10) & 31U);
  const double fraction = static_cast<double>(bits & 1023U) / 1024.0;
  if (exponent == 31) return fraction == 0.0 ? sign * INFINITY : NAN;
  return exponent == 0 ? sign * std::ldexp(fraction, -14)
                       : sign * std::ldexp(1.0 + fraction, exponent - 15);
}

TEST(Half, EveryF16DecodesAsDefinedAndComesBack) {
  for (uint32_t bits = 0; bits < 65536; ++bits) {
    const float value = f32_from_f16(static_cast<uint16_t>(bits));
    const double defined = f16_by_definition(bits);
    if (std::isnan(defined)) {
      ASSERT_TRUE(std::isnan(value)) << bits;
      ASSERT_TRUE(std::isnan(f32_from_f16(f16_from_f32(value)))) << bits;
    } else {
      ASSERT_EQ(static_cast<double>(value), defined) << bits;
      ASSERT_EQ(f16_from_f32(value), bits);
    }
  }
}

TEST(Half, F16RoundsToNearestEvenBetweenAllNeighbours) {
  for (uint32_t bits = 0; bits < 0x7BFF; ++bits) {
    const float low = f32_from_f16(static_cast<uint16_t>(bits));
    const float high = f32_from_f16(static_cast<uint16_t>(bits + 1));
    const float middle = (low + high) / 2.0F;  // exact: one bit more than f16 has
    ASSERT_EQ(f16_from_f32(middle), bits + (bits & 1U)) << bits;
    ASSERT_EQ(f16_from_f32(std::nextafter(middle, 0.0F)), bits);
    ASSERT_EQ(f16_from_f32(std::nextafter(middle, high)), bits + 1);
    ASSERT_EQ(f16_from_f32(-middle), 0x8000U + bits + (bits & 1U));
  }
}

TEST(Half, F16Overflows) {
  EXPECT_EQ(f16_from_f32(65519.996F), 0x7BFF);
  EXPECT_EQ(f16_from_f32(65520.0F), 0x7C00);
  EXPECT_EQ(f16_from_f32(-1e30F), 0xFC00);
  EXPECT_EQ(f16_from_f32(INFINITY), 0x7C00);
}

TEST(Half, Bf16RoundsToNearestEven) {
  for (uint32_t bits = 0; bits < 0x7F7F; ++bits) {
    const float low = f32_from_bf16(static_cast<uint16_t>(bits));
    const float middle = std::bit_cast<float>((bits << 16) | 0x8000U);
    ASSERT_EQ(bf16_from_f32(low), bits);
    ASSERT_EQ(bf16_from_f32(middle), bits + (bits & 1U));
    ASSERT_EQ(bf16_from_f32(std::nextafter(middle, INFINITY)), bits + 1);
  }
  EXPECT_EQ(bf16_from_f32(std::numeric_limits<float>::max()), 0x7F80);
  EXPECT_TRUE(std::isnan(f32_from_bf16(bf16_from_f32(std::bit_cast<float>(0x7F800001U)))));
}

}  // namespace
}  // namespace ruv
