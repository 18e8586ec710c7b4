// Distances of all tables are the same bits, and near what double says.
#include "kernels/distances.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <vector>

#include "base/rng.h"
#include "tensor/half.h"

namespace ruv::distances_test {
namespace {

constexpr int64_t kRows = 5;

// A query and rows of n numbers, rows apart from each other.
template <class T, class Draw>
struct DrawnVectors {
  DrawnVectors(int64_t n, Draw draw) {
    for (int64_t i = 0; i < (kRows + 1) * (n + 16); ++i) numbers.push_back(draw());
    for (int64_t i = 0; i < kRows; ++i) rows.push_back(numbers.data() + (i + 1) * (n + 16) + i);
  }
  const T* query() const { return numbers.data(); }
  std::vector<T> numbers;
  std::vector<const T*> rows;
};

struct FloatCase {
  DistanceKernel<float, float> DistanceKernels::*kernel;
  double (*term)(double q, double x);
};
constexpr FloatCase kFloats[] = {
    {&DistanceKernels::l2, [](double q, double x) { return (q - x) * (q - x); }},
    {&DistanceKernels::dot, [](double q, double x) { return q * x; }},
    {&DistanceKernels::manhattan, [](double q, double x) { return std::fabs(q - x); }}};

TEST(Distances, OfFloatsAreTheSameBitsAndNear) {
  for (const int64_t n : {16, 48, 64, 80, 128, 400, 768, 1040}) {
    Rng rng(static_cast<uint64_t>(n));
    const auto draw = [&] { return static_cast<float>(rng.uniform()) - 0.5F; };
    const DrawnVectors<float, decltype(draw)> v(n, draw);
    for (const FloatCase& one : kFloats) {
      float expected[kRows];
      (all_distance_kernels()[0]->*one.kernel)(v.query(), v.rows.data(), kRows, n, expected);
      for (int64_t i = 0; i < kRows; ++i) {
        double sum = 0;
        for (int64_t j = 0; j < n; ++j) {
          sum += one.term(double{v.query()[j]}, double{v.rows[static_cast<size_t>(i)][j]});
        }
        EXPECT_NEAR(double{expected[i]}, sum, 1e-6 * static_cast<double>(n)) << n;
      }
      for (const DistanceKernels* const table : all_distance_kernels()) {
        float found[kRows];
        (table->*one.kernel)(v.query(), v.rows.data(), kRows, n, found);
        for (int64_t i = 0; i < kRows; ++i) {
          EXPECT_EQ(std::bit_cast<uint32_t>(found[i]), std::bit_cast<uint32_t>(expected[i]))
              << table->isa << ", " << n << " numbers";
        }
      }
    }
  }
}

TEST(Distances, OfIntegersAreExact) {
  for (const int64_t n : {64, 128, 192, 768}) {
    Rng rng(static_cast<uint64_t>(n));
    const auto draw = [&] { return static_cast<int8_t>(static_cast<int>(rng.below(255)) - 127); };
    const DrawnVectors<int8_t, decltype(draw)> v(n, draw);
    const auto draw_bits = [&] { return static_cast<uint8_t>(rng.below(256)); };
    const DrawnVectors<uint8_t, decltype(draw_bits)> bits(n, draw_bits);
    for (const DistanceKernels* const table : all_distance_kernels()) {
      int32_t dots[kRows], differences[kRows];
      table->dot_int8(v.query(), v.rows.data(), kRows, n, dots);
      // 8 bytes fewer, so that the last part is not a whole one.
      table->hamming(bits.query(), bits.rows.data(), kRows, n - 8, differences);
      for (size_t i = 0; i < kRows; ++i) {
        int32_t dot = 0, differing = 0;
        for (int64_t j = 0; j < n; ++j) dot += v.query()[j] * v.rows[i][j];
        for (int64_t j = 0; j < n - 8; ++j) {
          differing += std::popcount(static_cast<uint8_t>(bits.query()[j] ^ bits.rows[i][j]));
        }
        EXPECT_EQ(dots[i], dot) << table->isa << ", " << n;
        EXPECT_EQ(differences[i], differing) << table->isa << ", " << n;
      }
    }
  }
}

// The row's numbers in float32 are what the kernels of halves measure.
TEST(Distances, OfHalvesAreThoseOfTheirNumbers) {
  constexpr HalfKernel DistanceKernels::*kKernels[] = {
      &DistanceKernels::l2_half, &DistanceKernels::dot_half, &DistanceKernels::manhattan_half};
  for (const int64_t n : {16, 48, 64, 144, 768}) {
    Rng rng(static_cast<uint64_t>(n));
    const auto draw_half = [&] {
      return static_cast<uint16_t>(rng.below(0x7C00) | rng.below(2) << 15);
    };
    const DrawnVectors<uint16_t, decltype(draw_half)> halves(n, draw_half);
    const float scales[kRows] = {1, 0x1p-20F, 0x1p30F, 0x1p-100F, 2};
    std::vector<float> query(static_cast<size_t>(n));
    for (float& x : query) x = static_cast<float>(rng.uniform()) - 0.5F;
    for (size_t kind = 0; kind < std::size(kKernels); ++kind) {
      float expected[kRows];
      for (size_t i = 0; i < kRows; ++i) {
        std::vector<float> row;
        for (int64_t j = 0; j < n; ++j) row.push_back(f32_from_f16(halves.rows[i][j]) * scales[i]);
        const float* const rows[] = {row.data()};
        (all_distance_kernels()[0]->*kFloats[kind].kernel)(query.data(), rows, 1, n, &expected[i]);
      }
      for (const DistanceKernels* const table : all_distance_kernels()) {
        float found[kRows];
        (table->*kKernels[kind])(query.data(), halves.rows.data(), scales, kRows, n, found);
        for (int64_t i = 0; i < kRows; ++i) {
          EXPECT_EQ(std::bit_cast<uint32_t>(found[i]), std::bit_cast<uint32_t>(expected[i]))
              << table->isa << ", " << n << ", " << kind;
        }
      }
    }
  }
}

TEST(Distances, OfNibblesAreExact) {
  for (const int64_t n : {64, 128, 320, 4096}) {
    Rng rng(static_cast<uint64_t>(n));
    const auto draw = [&] { return static_cast<uint8_t>(rng.below(256)); };
    const DrawnVectors<uint8_t, decltype(draw)> v(n / 2, draw);
    std::vector<int8_t> query(static_cast<size_t>(n), -127);
    for (int8_t& x : query) {
      if (n < 4096) x = static_cast<int8_t>(static_cast<int>(rng.below(255)) - 127);
    }
    for (const DistanceKernels* const table : all_distance_kernels()) {
      int32_t dots[kRows];
      table->dot_int4(query.data(), v.rows.data(), kRows, n, dots);
      for (size_t i = 0; i < kRows; ++i) {
        int32_t dot = 0;
        for (int64_t block = 0; block < n / 64; ++block) {
          for (int64_t j = 0; j < 32; ++j) {
            const int byte = v.rows[i][block * 32 + j];
            dot += query[static_cast<size_t>(block * 64 + j)] * (byte % 16 - 8);
            dot += query[static_cast<size_t>(block * 64 + 32 + j)] * (byte / 16 - 8);
          }
        }
        EXPECT_EQ(dots[i], dot) << table->isa << ", " << n;
      }
    }
  }
}

TEST(Distances, OfPartsAreTheSameBitsAndNear) {
  constexpr PartKernel DistanceKernels::*kKernels[] = {
      &DistanceKernels::l2_parts, &DistanceKernels::dot_parts, &DistanceKernels::manhattan_parts};
  for (const int64_t n_parts : {16, 32, 192}) {
    Rng rng(static_cast<uint64_t>(n_parts));
    const auto draw = [&] { return static_cast<uint8_t>(rng.below(256)); };
    const DrawnVectors<uint8_t, decltype(draw)> codes(n_parts, draw);
    const auto size = static_cast<size_t>(n_parts * kNumbersOfPart);
    std::vector<float> query(size), centres(size * kCentresOfPart);
    for (float& x : query) x = static_cast<float>(rng.uniform()) - 0.5F;
    for (float& x : centres) x = static_cast<float>(rng.uniform()) - 0.5F;
    for (size_t kind = 0; kind < std::size(kKernels); ++kind) {
      std::vector<float> expected(static_cast<size_t>(n_parts * kCentresOfPart));
      float sums[kRows];
      const DistanceKernels& ref = *all_distance_kernels()[0];
      (ref.*kKernels[kind])(query.data(), centres.data(), n_parts, expected.data());
      ref.sum_parts(expected.data(), codes.rows.data(), kRows, n_parts, sums);
      for (size_t i = 0; i < kRows; ++i) {
        double sum = 0;
        for (size_t j = 0; j < size; ++j) {
          const size_t at = j * kCentresOfPart + codes.rows[i][j / 4];
          sum += kFloats[kind].term(double{query[j]}, double{centres[at]});
        }
        EXPECT_NEAR(double{sums[i]}, sum, 1e-6 * static_cast<double>(size));
      }
      for (const DistanceKernels* const table : all_distance_kernels()) {
        std::vector<float> found(expected.size());
        (table->*kKernels[kind])(query.data(), centres.data(), n_parts, found.data());
        EXPECT_EQ(found, expected) << table->isa;
        float again[kRows];
        table->sum_parts(found.data(), codes.rows.data(), kRows, n_parts, again);
        for (int64_t i = 0; i < kRows; ++i) EXPECT_EQ(again[i], sums[i]) << table->isa;
      }
    }
  }
}

// The largest sums that there are.
TEST(Distances, OfExtremeBytesDoNotOverflow) {
  constexpr int64_t kNumbers = 4096;
  const std::vector<int8_t> low(kNumbers, -127), high(kNumbers, 127);
  const int8_t* const rows[] = {low.data(), high.data()};
  for (const DistanceKernels* const table : all_distance_kernels()) {
    int32_t dots[2];
    table->dot_int8(low.data(), rows, 2, kNumbers, dots);
    EXPECT_EQ(dots[0], 127 * 127 * kNumbers) << table->isa;
    EXPECT_EQ(dots[1], -127 * 127 * kNumbers) << table->isa;
  }
}

}  // namespace
}  // namespace ruv::distances_test
