// Parity of every matmul row of every table with the meaning of its format (decode, then multiply
// in float64), and bit identity: the bytes of an output depend on its own weights and activations
// only. New rows and tables are covered without touching this file.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "base/rng.h"
#include "kernels/kernels.h"
#include "tensor/format.h"
#include "tensor/half.h"

namespace ruv {
namespace {

constexpr int kMaxOut = 100;
constexpr int kMaxRows = 41;

float normal(Rng& rng) {
  double sum = 0;
  for (int i = 0; i < 6; ++i) sum += rng.uniform();
  return static_cast<float>((sum - 3.0) * 1.4);
}

// Byte offsets of the f16 scales in a block; every other byte may be anything.
std::vector<int> scale_offsets(DType type) {
  switch (type) {
    case DType::q4_0:
    case DType::q5_0:
    case DType::q8_0:
    case DType::iq4_nl:
    case DType::iq4_xs:
      return {0};
    case DType::q4_1:
    case DType::q5_1:
    case DType::q4_k:
    case DType::q5_k:
      return {0, 2};
    case DType::q2_k:
      return {80, 82};
    case DType::q3_k:
      return {108};
    case DType::q6_k:
      return {208};
    default:
      return {};
  }
}

// n_rows weight rows of k numbers: random bytes with scales near 0.01, or random numbers for plain
// types.
std::vector<std::byte> random_weights(const Format& format, int64_t n_rows, int64_t k, Rng& rng) {
  std::vector<std::byte> bytes(static_cast<size_t>(n_rows * format.bytes_of(k)));
  const std::vector<int> scales = scale_offsets(format.dtype);
  if (scales.empty()) {
    std::vector<float> row(static_cast<size_t>(k));
    for (int64_t r = 0; r < n_rows; ++r) {
      for (float& x : row) x = normal(rng);
      format.encode(row.data(), bytes.data() + r * format.bytes_of(k), k);
    }
    return bytes;
  }
  for (std::byte& b : bytes) b = static_cast<std::byte>(rng.next());
  for (size_t block = 0; block < bytes.size(); block += static_cast<size_t>(format.block_bytes)) {
    for (const int at : scales) {
      const uint16_t scale = f16_from_f32(0.01F * normal(rng));
      std::memcpy(bytes.data() + block + at, &scale, 2);
    }
  }
  return bytes;
}

struct QuantizedRows {
  std::vector<std::byte> bytes;
  std::vector<float> values;  // what the bytes mean
  int64_t stride = 0;
};

QuantizedRows random_activations(ActFormat act, int64_t n_rows, int64_t k, Rng& rng) {
  QuantizedRows a;
  a.values.resize(static_cast<size_t>(n_rows * k));
  for (float& x : a.values) x = normal(rng);
  if (act == ActFormat::f32) {
    a.stride = k * int64_t{sizeof(float)} + 16;
    a.bytes.resize(static_cast<size_t>(n_rows * a.stride));
    for (int64_t r = 0; r < n_rows; ++r) {
      std::memcpy(a.bytes.data() + r * a.stride, a.values.data() + r * k,
                  static_cast<size_t>(k) * sizeof(float));
    }
    return a;
  }
  if (act == ActFormat::bf16) {
    a.stride = (k + 1) / 2 * 4 + 16;
    a.bytes.resize(static_cast<size_t>(n_rows * a.stride));
    for (int64_t i = 0; i < n_rows * k; ++i) {
      const uint16_t bits = bf16_from_f32(a.values[static_cast<size_t>(i)]);
      std::memcpy(a.bytes.data() + i / k * a.stride + i % k * 2, &bits, 2);
      a.values[static_cast<size_t>(i)] = f32_from_bf16(bits);
    }
    return a;
  }
  a.stride = k / 32 * int64_t{sizeof(ActBlock)};
  a.bytes.resize(static_cast<size_t>(n_rows * a.stride));
  std::vector<ActBlock> row(static_cast<size_t>(k / 32));
  for (int64_t r = 0; r < n_rows; ++r) {
    find_kernels("ref")->quantize_row(a.values.data() + r * k, row.data(), k);
    std::memcpy(a.bytes.data() + r * a.stride, row.data(), static_cast<size_t>(a.stride));
    for (int64_t i = 0; i < k; ++i) {
      const ActBlock& block = row[static_cast<size_t>(i / 32)];
      a.values[static_cast<size_t>(r * k + i)] = block.scale * static_cast<float>(block.q[i % 32]);
    }
  }
  return a;
}

// Weight rows [0, n_out) packed for one kernel.
struct Packed {
  std::vector<std::byte> bytes;
  int64_t n_groups = 0;
  int64_t group_bytes = 0;
};

Packed pack(const GemmKernel& row, const std::vector<std::byte>& weights, int64_t n_out,
            int64_t k) {
  const int64_t row_bytes = format_of(row.weight).bytes_of(k);
  Packed p;
  p.n_groups = (n_out + row.mr - 1) / row.mr;
  p.group_bytes = row.group_bytes(k);
  p.bytes.resize(static_cast<size_t>(p.n_groups * p.group_bytes));
  for (int64_t g = 0; g < p.n_groups; ++g) {
    std::vector<const std::byte*> rows(static_cast<size_t>(row.mr), nullptr);
    for (int i = 0; i < row.mr && g * row.mr + i < n_out; ++i) {
      rows[static_cast<size_t>(i)] = weights.data() + (g * row.mr + i) * row_bytes;
    }
    row.pack(p.bytes.data() + g * p.group_bytes, rows.data(), k);
  }
  return p;
}

// out (n_rows, stride) with every number outside the result set to kUntouched.
constexpr float kUntouched = -12345.0F;

std::vector<float> multiply(const GemmKernel& row, const Packed& p, const QuantizedRows& a,
                            int64_t n_rows, int64_t n_out, int64_t k) {
  const int64_t stride = n_out + 3;
  std::vector<float> out(static_cast<size_t>(n_rows * stride + 1), kUntouched);
  row.run({.weights = p.bytes.data(),
           .act = a.bytes.data(),
           .out = out.data(),
           .k = k,
           .n_groups = p.n_groups,
           .n_cols = n_out,
           .n_rows = n_rows,
           .act_stride = a.stride,
           .out_stride = stride});
  return out;
}

struct Expected {
  std::vector<double> sum;        // (kMaxRows, kMaxOut)
  std::vector<double> magnitude;  // Σ|w·a|
};

Expected expect(const Format& format, const std::vector<std::byte>& weights, const QuantizedRows& a,
                int64_t k) {
  Expected e;
  e.sum.resize(kMaxRows * kMaxOut);
  e.magnitude.resize(kMaxRows * kMaxOut);
  std::vector<float> w(static_cast<size_t>(k));
  for (int64_t o = 0; o < kMaxOut; ++o) {
    format.decode(weights.data() + o * format.bytes_of(k), w.data(), k);
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
  const int64_t block = format.block_size;
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
      const Expected e = expect(format, weights, a, k);
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
      format.encode(plain.data() + o * kK, weights.data() + o * format.bytes_of(kK), kK);
    }
    const QuantizedRows a = random_activations(row.act, kMaxRows, kK, rng);
    const Packed p = pack(row, weights, kMaxOut, kK);
    check_shape(row, p, a, expect(format, weights, a, kK), kMaxRows, kMaxOut, kK);
    if (HasFatalFailure()) return;
  }
}

TEST_P(Matmul, BytesDoNotDependOnRowsOrGroups) {
  for (const GemmKernel& row : GetParam()->gemm) {
    const Format& format = format_of(row.weight);
    SCOPED_TRACE(format.name);
    constexpr int64_t kK = 768;
    constexpr int64_t kRows = 80;  // every split of panels into tiles
    const int64_t n_out = 3 * row.mr + 1;
    Rng rng(11);
    const auto weights = random_weights(format, n_out, kK, rng);
    const QuantizedRows a = random_activations(row.act, kRows, kK, rng);
    const Packed p = pack(row, weights, n_out, kK);
    const std::vector<float> whole = multiply(row, p, a, kRows, n_out, kK);
    for (int64_t n = 1; n < kRows; ++n) {
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
               .out_stride = row.mr});
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

TEST_P(Matmul, PackedSizeStaysNearTheFile) {
  for (const GemmKernel& row : GetParam()->gemm) {
    const Format& format = format_of(row.weight);
    const auto file = static_cast<double>(format.bytes_of(4096) * row.mr);
    EXPECT_LE(static_cast<double>(row.group_bytes(4096)), 1.03 * file) << format.name;
  }
}

INSTANTIATE_TEST_SUITE_P(Tables, Matmul,
                         testing::ValuesIn(all_kernels().begin(), all_kernels().end()),
                         [](const auto& info) { return std::string(info.param->isa); });

}  // namespace
}  // namespace ruv
