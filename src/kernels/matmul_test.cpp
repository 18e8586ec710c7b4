// Parity of every matmul row of every table with the meaning of its format (decode, then multiply
// in float64), and bit identity: the bytes of an output depend on its own weights and activations
// only. New rows and tables are covered without touching this file.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "kernels/test_matmul.h"

namespace ruv {
namespace {

constexpr int kMaxOut = 100;
constexpr int kMaxRows = 41;

struct Expected {
  std::vector<double> sum;        // (kMaxRows, kMaxOut)
  std::vector<double> magnitude;  // Σ|w·a|
};

Expected expect(const GemmKernel& row, const std::vector<std::byte>& weights,
                const QuantizedRows& a, int64_t k) {
  const Format& format = format_of(row.weight);
  Expected e;
  e.sum.resize(kMaxRows * kMaxOut);
  e.magnitude.resize(kMaxRows * kMaxOut);
  std::vector<float> w(static_cast<size_t>(k));
  for (int64_t o = 0; o < kMaxOut; ++o) {
    format.decode(weights.data() + o * format.bytes_of(k), w.data(), k);
    if (row.act == ActFormat::bf16) {  // both factors are
      for (float& x : w) x = f32_from_bf16(bf16_from_f32(x));
    }
    for (int64_t r = 0; r < kMaxRows; ++r) {
      double sum = 0;
      double magnitude = 0;
      for (int64_t i = 0; i < k; ++i) {
        const double term = static_cast<double>(w[static_cast<size_t>(i)]) *
                            a.values[static_cast<size_t>(r * k + i)];
        sum += term;
        magnitude += std::fabs(term);
      }
      e.sum[static_cast<size_t>(r * kMaxOut + o)] = sum;
      e.magnitude[static_cast<size_t>(r * kMaxOut + o)] = magnitude;
    }
  }
  return e;
}

void check_shape(const GemmKernel& row, const Packed& p, const QuantizedRows& a, const Expected& e,
                 int64_t n_rows, int64_t n_out, int64_t k) {
  const std::vector<float> out = multiply(row, p, a, n_rows, n_out, k);
  for (int64_t r = 0; r < n_rows; ++r) {
    for (int64_t o = 0; o < n_out + 3; ++o) {
      const float got = out[static_cast<size_t>(r * (n_out + 3) + o)];
      if (o >= n_out) {
        ASSERT_EQ(got, kUntouched) << "written past column " << n_out << ", row " << r;
        continue;
      }
      const auto at = static_cast<size_t>(r * kMaxOut + o);
      ASSERT_NEAR(got, e.sum[at], 4e-6 * e.magnitude[at] + 1e-7)
          << "row " << r << " of " << n_rows << ", column " << o << " of " << n_out << ", k " << k;
    }
  }
}

std::vector<int64_t> sizes_of_k(const Format& format) {
  if (format.block_size == 1) return {1, 3, 4, 7, 33, 1026};
  const int64_t block = std::max<int64_t>(format.block_size, 32);
  return {block, 2 * block, 5 * block, block == 32 ? 4096 : 2304};
}

class Matmul : public testing::TestWithParam<const Kernels*> {};

TEST_P(Matmul, MatchesDecodedWeights) {
  for (const GemmKernel& row : GetParam()->gemm) {
    const Format& format = format_of(row.weight);
    SCOPED_TRACE(format.name);
    for (const int64_t k : sizes_of_k(format)) {
      Rng rng(static_cast<uint64_t>(k) * 131 + static_cast<uint64_t>(row.weight));
      const auto weights = random_weights(format, kMaxOut, k, rng);
      const QuantizedRows a = random_activations(row.act, kMaxRows, k, rng);
      const Expected e = expect(row, weights, a, k);
      for (const int64_t n_out : {0, 1, row.mr - 1, row.mr, row.mr + 1, kMaxOut}) {
        const Packed p = pack(row, weights, n_out, k);
        for (const int64_t n_rows : {0, 1, 2, 3, 7, kMaxRows}) {
          check_shape(row, p, a, e, n_rows, n_out, k);
          if (HasFatalFailure()) return;
        }
      }
    }
  }
}

// Training makes groups of numbers that lie by columns itself.
TEST_P(Matmul, GroupsOfFloatsAreStepsOfLanes) {
  const GemmKernel* const row = find_gemm(*GetParam(), DType::f32);
  ASSERT_NE(row, nullptr);
  constexpr int64_t kK = 37;
  Rng rng(11);
  const auto weights = random_weights(format_of(DType::f32), row->mr, kK, rng);
  const Packed p = pack(*row, weights, row->mr, kK);
  for (int64_t lane = 0; lane < row->mr; ++lane) {
    for (int64_t k = 0; k < kK; ++k) {
      EXPECT_EQ(std::memcmp(p.bytes.data() + (k * row->mr + lane) * 4,
                            weights.data() + (lane * kK + k) * 4, 4),
                0);
    }
  }
}

TEST_P(Matmul, EncodedWeightsMatch) {
  for (const GemmKernel& row : GetParam()->gemm) {
    const Format& format = format_of(row.weight);
    if (format.encode == nullptr) continue;
    SCOPED_TRACE(format.name);
    constexpr int64_t kK = 768;
    Rng rng(7);
    std::vector<float> plain(kMaxOut * kK);
    for (float& x : plain) x = normal(rng);
    std::vector<std::byte> weights(static_cast<size_t>(kMaxOut * format.bytes_of(kK)));
    for (int64_t o = 0; o < kMaxOut; ++o) {
      format.encode(plain.data() + o * kK, nullptr, weights.data() + o * format.bytes_of(kK), kK);
    }
    const QuantizedRows a = random_activations(row.act, kMaxRows, kK, rng);
    const Packed p = pack(row, weights, kMaxOut, kK);
    check_shape(row, p, a, expect(row, weights, a, kK), kMaxRows, kMaxOut, kK);
    if (HasFatalFailure()) return;
  }
}

TEST_P(Matmul, BytesDoNotDependOnRowsOrGroups) {
  for (const GemmKernel& row : GetParam()->gemm) {
    const Format& format = format_of(row.weight);
    SCOPED_TRACE(format.name);
    constexpr int64_t kK = 1280;   // more than a panel
    constexpr int64_t kRows = 80;  // every split of panels into tiles
    const int64_t n_out = 3 * row.mr + 1;
    Rng rng(11);
    const auto weights = random_weights(format, n_out, kK, rng);
    const QuantizedRows a = random_activations(row.act, kRows, kK, rng);
    const Packed p = pack(row, weights, n_out, kK);
    const std::vector<float> whole = multiply(row, p, a, kRows, n_out, kK);
    // The reference has no panels.
    const int64_t step = GetParam() == find_kernels("ref") ? 13 : 1;
    for (int64_t n = 1; n < kRows; n += step) {
      const std::vector<float> part = multiply(row, p, a, n, n_out, kK);
      ASSERT_EQ(0, std::memcmp(part.data(), whole.data(),
                               static_cast<size_t>(n * (n_out + 3)) * sizeof(float)))
          << n << " rows";
    }
    for (int64_t group = 0; group < p.n_groups; ++group) {
      std::vector<float> out(static_cast<size_t>(kRows * row.mr));
      const int64_t n_cols = std::min<int64_t>(row.mr, n_out - group * row.mr);
      row.run({.weights = p.bytes.data() + group * p.group_bytes,
               .act = a.bytes.data(),
               .out = out.data(),
               .k = kK,
               .n_groups = 1,
               .n_cols = n_cols,
               .n_rows = kRows,
               .act_stride = a.stride,
               .out_stride = row.mr,
               .ahead = group * 4096});  // which changes no byte
      for (int64_t r = 0; r < kRows; ++r) {
        ASSERT_EQ(
            0, std::memcmp(out.data() + r * row.mr, whole.data() + r * (n_out + 3) + group * row.mr,
                           static_cast<size_t>(n_cols) * sizeof(float)))
            << "group " << group << ", row " << r;
      }
    }
  }
}

TEST_P(Matmul, EveryTableTakesTheSameActivations) {
  const Kernels& ref = *find_kernels("ref");
  EXPECT_EQ(GetParam()->gemm.size(), ref.gemm.size());
  for (const GemmKernel& row : ref.gemm) {
    const GemmKernel* mine = find_gemm(*GetParam(), row.weight);
    ASSERT_NE(mine, nullptr) << format_of(row.weight).name;
    if (mine->act != ActFormat::bf16) {
      EXPECT_EQ(mine->act, row.act) << format_of(row.weight).name;
    }
  }
}

// The kernels take every code for a number; packing sees to those that are none.
TEST_P(Matmul, EightBitFloatsThatAreNoNumbersGiveNaN) {
  constexpr int64_t kK = 64;
  for (const auto& [dtype, code] : {std::pair{DType::e4m3, 0xFF}, std::pair{DType::e5m2, 0x7C}}) {
    const GemmKernel& row = *find_gemm(*GetParam(), dtype);
    const Format& format = format_of(dtype);
    Rng rng(5);
    auto weights = random_weights(format, 3, kK, rng);
    weights[static_cast<size_t>(format.bytes_of(kK)) + 4 + 17] = static_cast<std::byte>(code);
    const QuantizedRows a = random_activations(row.act, 2, kK, rng);
    const std::vector<float> out = multiply(row, pack(row, weights, 3, kK), a, 2, 3, kK);
    for (size_t i = 0; i < 12; ++i) {
      if (i % 6 >= 3) continue;  // past the columns
      EXPECT_EQ(std::isnan(out[i]), i % 6 == 1) << format.name << " " << i;
    }
  }
}

// What a format's packed form may have more than the file. The zero of a4 is a byte, and two when
// packed; entries of codebooks are looked up as they are packed (pack/layout.h).
double most_growth(DType dtype) {
  switch (dtype) {
    case DType::a4:
      return 1.06;
    case DType::iq1_s:
      return 1.53;
    case DType::iq1_m:
      return 2.08;
    case DType::iq2_xxs:
      return 1.64;
    case DType::iq2_xs:
      return 1.57;
    case DType::iq2_s:
      return 1.42;
    case DType::iq3_xxs:
      return 1.43;
    case DType::iq3_s:
      return 1.28;
    case DType::tq1_0:
      return 1.26;
    default:
      return 1.031;
  }
}

TEST_P(Matmul, PackedSizeStaysNearTheFile) {
  for (const GemmKernel& row : GetParam()->gemm) {
    const Format& format = format_of(row.weight);
    const auto file = static_cast<double>(format.bytes_of(4096) * row.mr);
    EXPECT_LE(static_cast<double>(row.group_bytes(4096)), most_growth(row.weight) * file)
        << format.name;
  }
}

INSTANTIATE_TEST_SUITE_P(Tables, Matmul,
                         testing::ValuesIn(all_kernels().begin(), all_kernels().end()),
                         [](const auto& info) { return std::string(info.param->isa); });

}  // namespace
}  // namespace ruv
