// Formats of our own: blocks made by hand, whose numbers follow from the layouts in their headers.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <vector>

#include "tensor/format.h"
#include "tensor/formats/affine.h"
#include "tensor/formats/float8.h"
#include "tensor/formats/levels.h"

namespace ruv {
namespace {

template <class Block>
std::vector<float> own_numbers(DType dtype, const Block& block) {
  const Format& format = format_of(dtype);
  EXPECT_EQ(format.block_size, Block::kSize);
  EXPECT_EQ(format.block_bytes, static_cast<int>(sizeof block));
  // At an odd address.
  std::vector<std::byte> bytes(1 + sizeof block);
  std::memcpy(bytes.data() + 1, &block, sizeof block);
  std::vector<float> numbers(static_cast<size_t>(Block::kSize));
  format.decode(bytes.data() + 1, numbers.data(), Block::kSize);
  return numbers;
}

template <class Block>
void fill_nibbles(Block& block) {
  for (int j = 0; j < Block::kSize / 2; ++j) {
    block.q[j] = static_cast<uint8_t>(j % 16 | (15 - j % 16) << 4);
  }
}

// Code of number i after fill_nibbles.
int nibble_at(int i, int half) { return i < half ? i % 16 : 15 - (i - half) % 16; }

TEST(OwnFormats, AffineIsScaleTimesCodeLessZero) {
  BlockA4 half{.d = {0x00, 0x36}, .z = 11, .q = {}};  // 0.375
  fill_nibbles(half);
  BlockA4F32 wide{.d = 0.1F, .z = 7.25F, .q = {}};
  fill_nibbles(wide);
  BlockA8F32 bytes{.d = -0.3F, .z = 128.5F, .q = {}};
  for (int j = 0; j < 32; ++j) bytes.q[j] = static_cast<uint8_t>(8 * j + 5);
  const auto a = own_numbers(DType::a4, half);
  const auto b = own_numbers(DType::a4_f32, wide);
  const auto c = own_numbers(DType::a8_f32, bytes);
  for (int i = 0; i < 32; ++i) {
    const auto at = static_cast<size_t>(i);
    const auto q = static_cast<float>(nibble_at(i, 16));
    EXPECT_EQ(a[at], 0.375F * (q - 11)) << i;
    EXPECT_EQ(b[at], 0.1F * (q - 7.25F)) << i;
    EXPECT_EQ(c[at], -0.3F * (static_cast<float>(8 * i + 5) - 128.5F)) << i;
  }
}

TEST(OwnFormats, LevelsAreScaled) {
  BlockLevels block{.d = 0.7F, .q = {}};
  fill_nibbles(block);
  BlockE2m1 small{.d = 3.1F, .q = {}};
  fill_nibbles(small);
  const auto nf4 = own_numbers(DType::nf4, block);
  const auto fp4 = own_numbers(DType::fp4, block);
  const auto e2m1 = own_numbers(DType::e2m1, small);
  for (int i = 0; i < 32; ++i) {
    const int code = nibble_at(i, 16);
    EXPECT_EQ(nf4[static_cast<size_t>(i)], 0.7F * kLevelsNf4[code]) << i;
    EXPECT_EQ(fp4[static_cast<size_t>(i)], 0.7F * kLevelsFp4[code]) << i;
  }
  for (int i = 0; i < 16; ++i) {
    EXPECT_EQ(e2m1[static_cast<size_t>(i)], 3.1F * kLevelsE2m1[nibble_at(i, 8)]) << i;
  }
}

// By the definition of each: (1 + fraction) · 2^(exponent − bias).
float float8_by_definition(int bits, int n_fraction) {
  const int n_exponent = 7 - n_fraction;
  const int bias = (1 << (n_exponent - 1)) - 1;
  const int exponent = bits >> n_fraction & ((1 << n_exponent) - 1);
  const int fraction = bits & ((1 << n_fraction) - 1);
  const int whole = exponent == 0 ? fraction : fraction + (1 << n_fraction);
  const int power = std::max(exponent, 1) - bias - n_fraction;
  const float magnitude = std::ldexp(static_cast<float>(whole), power);
  return bits >= 128 ? -magnitude : magnitude;
}

TEST(OwnFormats, EveryEightBitFloat) {
  for (int first = 0; first < 256; first += 32) {
    BlockFloat8 block{.d = 1.7F, .q = {}};
    for (int j = 0; j < 32; ++j) block.q[j] = static_cast<uint8_t>(first + j);
    const auto e4m3 = own_numbers(DType::e4m3, block);
    const auto e5m2 = own_numbers(DType::e5m2, block);
    for (int j = 0; j < 32; ++j) {
      const int bits = first + j;
      const float four = e4m3[static_cast<size_t>(j)];
      const float five = e5m2[static_cast<size_t>(j)];
      if ((bits & 0x7F) == 0x7F) {
        EXPECT_TRUE(std::isnan(four));
      } else {
        EXPECT_EQ(std::bit_cast<uint32_t>(four),
                  std::bit_cast<uint32_t>(1.7F * float8_by_definition(bits, 3)))
            << bits;
      }
      if ((bits & 0x7F) < 0x7C) {
        EXPECT_EQ(std::bit_cast<uint32_t>(five),
                  std::bit_cast<uint32_t>(1.7F * float8_by_definition(bits, 2)))
            << bits;
      } else {
        EXPECT_FALSE(std::isfinite(five)) << bits;
      }
    }
  }
}

TEST(OwnFormats, NoFileMayUseThem) {
  for (uint32_t id = kFirstOwnDType; id < 256; ++id) EXPECT_EQ(find_format(id), nullptr) << id;
  EXPECT_EQ(find_format("nf4")->dtype, DType::nf4);
}

}  // namespace
}  // namespace ruv
