#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <vector>

#include "kernels/pack/packing.h"
#include "tensor/half.h"

namespace ruv {
namespace {

constexpr int kLanes = 64;

using PackPairs = void (*)(std::byte*, const std::byte* const*, int64_t);

// Rows of numbers of 16 bits, an empty one for a row that a group lacks.
std::vector<uint16_t> packed(PackPairs pack, const std::array<std::vector<uint16_t>, kLanes>& rows,
                             int64_t k) {
  std::array<const std::byte*, kLanes> starts = {};
  for (int lane = 0; lane < kLanes; ++lane) {
    if (!rows[lane].empty()) starts[lane] = reinterpret_cast<const std::byte*>(rows[lane].data());
  }
  const auto bytes = static_cast<size_t>(packed_bf16_pair_bytes<kLanes>(k));
  std::vector<uint16_t> group(bytes / 2 + 1, 0xABCD);  // one more shows a write beyond the end
  pack(reinterpret_cast<std::byte*>(group.data()), starts.data(), k);
  EXPECT_EQ(group.back(), 0xABCD);
  group.pop_back();
  return group;
}

uint16_t number_at(const std::vector<uint16_t>& group, int lane, int64_t i) {
  return group[static_cast<size_t>((i / 2 * kLanes + lane) * 2 + i % 2)];
}

TEST(PackPairs, EveryF16IsRoundedAsThroughFloat32) {
  constexpr int64_t kNumbers = 65536 / kLanes;
  std::array<std::vector<uint16_t>, kLanes> rows;
  for (int lane = 0; lane < kLanes; ++lane) {
    for (int i = 0; i < kNumbers; ++i) {
      rows[lane].push_back(static_cast<uint16_t>(i * kLanes + lane));
    }
  }
  const auto group = packed(pack_f16_as_bf16_pairs<kLanes>, rows, kNumbers);
  for (int bits = 0; bits < 65536; ++bits) {
    const uint16_t expected = bf16_from_f32(f32_from_f16(static_cast<uint16_t>(bits)));
    ASSERT_EQ(number_at(group, bits % kLanes, bits / kLanes), expected) << "f16 bits " << bits;
  }
}

TEST(PackPairs, OddLengthsAndMissingRowsArePaddedWithZeros) {
  for (const int64_t k : {1, 2, 31, 32, 33, 65, 97}) {
    std::array<std::vector<uint16_t>, kLanes> rows;
    for (int lane = 0; lane < kLanes; lane += 3) {
      for (int64_t i = 0; i < k; ++i) {
        rows[lane].push_back(static_cast<uint16_t>(0x3C00 + lane * 100 + i));
      }
    }
    const auto same = packed(pack_bf16_pairs<kLanes>, rows, k);
    const auto rounded = packed(pack_f16_as_bf16_pairs<kLanes>, rows, k);
    for (int lane = 0; lane < kLanes; ++lane) {
      for (int64_t i = 0; i < (k + 1) / 2 * 2; ++i) {
        const bool there = i < k && !rows[lane].empty();
        const uint16_t bits = there ? rows[lane][static_cast<size_t>(i)] : 0;
        EXPECT_EQ(number_at(same, lane, i), bits) << k << " numbers, row " << lane << ", " << i;
        EXPECT_EQ(number_at(rounded, lane, i), bf16_from_f32(f32_from_f16(bits)));
      }
    }
  }
}

}  // namespace
}  // namespace ruv
