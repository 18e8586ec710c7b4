// Every element-wise, reduction and attention entry of every table against what it means. That the
// tables agree to the last bit is tested in same_bytes_test.cpp.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "base/rng.h"
#include "kernels/kernels.h"
#include "kernels/test_oracle.h"
#include "tensor/half.h"

namespace ruv::vectors_test {
namespace {

using Floats = std::vector<float>;
constexpr int64_t kLengths[] = {0, 1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 33, 63, 65, 128, 1000, 5003};

Floats random_floats(int64_t n, uint64_t seed, float low = -4, float high = 4) {
  Rng rng(seed * 7919 + static_cast<uint64_t>(n));
  Floats x(static_cast<size_t>(n));
  for (float& v : x) v = low + (high - low) * static_cast<float>(rng.uniform());
  return x;
}

// Copies with spare numbers behind them that must stay as they are.
Floats guarded(const Floats& x) {
  Floats y = x;
  y.resize(x.size() + 16, 777.0F);
  return y;
}

void expect_close(const Floats& got, const Floats& want, double relative, double absolute) {
  for (size_t i = 0; i < want.size(); ++i) {
    ASSERT_NEAR(got[i], want[i], relative * std::fabs(want[i]) + absolute)
        << "number " << i << " of " << want.size();
  }
  for (size_t i = want.size(); i < got.size(); ++i) ASSERT_EQ(got[i], 777.0F) << "written past end";
}

class VectorTable : public testing::TestWithParam<const Kernels*> {
 protected:
  const Kernels& k_ = *GetParam();
  const Kernels& oracle_ = oracle::kKernels;

  // Runs f(table, x) on both tables for every length and compares x.
  template <class F>
  void compare(F f, double relative, double absolute, float low = -8, float high = 8) {
    for (const int64_t n : kLengths) {
      const Floats x = random_floats(n, 3, low, high);
      Floats got = guarded(x);
      Floats want = x;
      f(k_, got.data(), n);
      f(oracle_, want.data(), n);
      expect_close(got, want, relative, absolute);
    }
  }
};

TEST_P(VectorTable, QuantizeRowIsExact) {
  for (const int64_t n : {0, 32, 64, 96, 4096}) {
    for (const float size : {0.0F, 1e-30F, 1.0F, 1e30F}) {
      const Floats x = random_floats(n, 5, -size, size);
      std::vector<ActBlock> got(static_cast<size_t>(n / 32));
      std::vector<ActBlock> want(got.size());
      k_.quantize_row(x.data(), got.data(), n);
      oracle_.quantize_row(x.data(), want.data(), n);
      for (size_t i = 0; i < got.size(); ++i) {
        ASSERT_EQ(0, std::memcmp(&got[i], &want[i], sizeof(ActBlock))) << "block " << i;
      }
    }
  }
}

TEST_P(VectorTable, QuantizeRowRoundsHalfToEven) {
  Floats x(32, 0.0F);
  x[0] = 127;
  x[1] = 0.5F;
  x[2] = 1.5F;
  x[3] = -2.5F;
  x[31] = -127;
  ActBlock block;
  k_.quantize_row(x.data(), &block, 32);
  EXPECT_EQ(block.scale, 1.0F);
  EXPECT_EQ(block.q[0], 127);
  EXPECT_EQ(block.q[1], 0);
  EXPECT_EQ(block.q[2], 2);
  EXPECT_EQ(block.q[3], -2);
  EXPECT_EQ(block.half_sum[0], 127);
  EXPECT_EQ(block.half_sum[1], -127);
}

TEST_P(VectorTable, RmsNorm) {
  const Floats w = random_floats(6000, 8, 0.5F, 2);
  const auto f = [&](const Kernels& k, float* x, int64_t n) {
    if (n > 0) k.rms_norm(x, w.data(), x, n, 1e-5F);
  };
  compare(f, 2e-6, 1e-7);
}

TEST_P(VectorTable, LayerNorm) {
  const Floats w = random_floats(6000, 8, 0.5F, 2);
  const Floats bias = random_floats(6000, 9);
  for (const float* b : {bias.data(), static_cast<const float*>(nullptr)}) {
    const auto f = [&](const Kernels& k, float* x, int64_t n) {
      if (n > 0) k.layer_norm(x, w.data(), b, x, n, 1e-5F);
    };
    compare(f, 4e-6, 4e-6);
  }
}

TEST_P(VectorTable, NormsWriteElsewhereToo) {
  const Floats x = random_floats(100, 1);
  const Floats w = random_floats(100, 2);
  Floats got = guarded(Floats(100));
  Floats want(100);
  k_.rms_norm(x.data(), w.data(), got.data(), 100, 1e-6F);
  oracle_.rms_norm(x.data(), w.data(), want.data(), 100, 1e-6F);
  expect_close(got, want, 2e-6, 1e-7);
}

TEST_P(VectorTable, Add) {
  const Floats y = random_floats(6000, 4);
  compare([&](const Kernels& k, float* x, int64_t n) { k.add(x, y.data(), n); }, 0, 0);
}

TEST_P(VectorTable, Gates) {
  const Floats up = random_floats(6000, 4);
  for (size_t act = 0; act < kActs; ++act) {
    SCOPED_TRACE(act);
    compare([&](const Kernels& k, float* x, int64_t n) { k.gate[act](x, up.data(), n); }, 2e-6,
            2e-6, -30, 30);
    compare([&](const Kernels& k, float* x, int64_t n) { k.activate[act](x, n); }, 2e-6, 1e-6, -8,
            8);
  }
}

TEST_P(VectorTable, GatesAtTheEnds) {
  Floats x = {-1e4F, -200, -89, -87, 0, 87, 89, 200, 1e4F};
  const Floats up(x.size(), 1.0F);
  for (size_t act = 0; act < kActs; ++act) {
    Floats gated = x;
    Floats activated = x;
    k_.gate[act](gated.data(), up.data(), static_cast<int64_t>(x.size()));
    k_.activate[act](activated.data(), static_cast<int64_t>(x.size()));
    for (size_t i = 0; i < x.size(); ++i) {
      const float plain = i < 5 ? 0.0F : std::vector<float>{87, 89, 200, 1e4F}[i - 5];
      const Act kind{static_cast<uint8_t>(act)};
      const float sigmoid = i < 4 ? 0.0F : i == 4 ? 0.5F : 1.0F;
      const float want = kind == Act::relu2     ? plain * plain
                         : kind == Act::sigmoid ? sigmoid
                         : kind == Act::tanh    ? 2 * sigmoid - 1
                                                : plain;
      EXPECT_NEAR(gated[i], want, 1e-30) << act << " " << i;
      EXPECT_NEAR(activated[i], want, 1e-30) << act << " " << i;
    }
  }
}

TEST_P(VectorTable, RopeHalf) {
  for (const int64_t n : {0, 2, 6, 16, 34, 64, 96, 128, 254}) {
    const Floats x = random_floats(n, 1);
    const Floats c = random_floats(n / 2, 2, -1, 1);
    const Floats s = random_floats(n / 2, 3, -1, 1);
    Floats got = guarded(x);
    Floats want = x;
    k_.rope_half(got.data(), c.data(), s.data(), n);
    oracle_.rope_half(want.data(), c.data(), s.data(), n);
    expect_close(got, want, 1e-6, 1e-6);
  }
}

TEST_P(VectorTable, Xielu) {
  for (const Xielu& numbers : {Xielu{0.8F, 0.9F, 0.5F, -1e-6F}, Xielu{1.5F, 0.2F, 0.1F, -0.05F}}) {
    const auto apply = [&](const Kernels& k, float* x, int64_t n) { k.xielu(x, n, numbers); };
    compare(apply, 2e-6, 2e-6, -8, 8);
    compare(apply, 2e-6, 2e-6, -200, 0);
  }
}

TEST_P(VectorTable, Softcap) {
  for (const float cap : {0.5F, 30.0F, 50.0F}) {
    compare([&](const Kernels& k, float* x, int64_t n) { k.softcap(x, n, cap); }, 1e-6, 0, -200,
            200);
    compare([&](const Kernels& k, float* x, int64_t n) { k.softcap(x, n, cap); }, 1e-6, 0, -1e-3F,
            1e-3F);
  }
}

TEST_P(VectorTable, ExpIsAccurate) {
  constexpr int64_t kN = 1 << 16;
  Floats x(kN);
  for (int64_t i = 0; i < kN; ++i) {
    x[static_cast<size_t>(i)] = -86.0F * static_cast<float>(i) / static_cast<float>(kN);
  }
  const Floats arguments = x;
  const float sum = k_.exp_sum(x.data(), kN, 0.0F);
  double want_sum = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    const double want = std::exp(static_cast<double>(arguments[i]));
    ASSERT_NEAR(x[i], want, 2e-7 * want) << arguments[i];
    want_sum += want;
  }
  EXPECT_NEAR(sum, want_sum, 4e-6 * want_sum);
}

TEST_P(VectorTable, ExpSumOfMaskedScores) {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  for (const int64_t n : {16, 32, 48, 1024}) {
    Floats x = random_floats(n, 6, -20, 5);
    for (size_t i = 1; i < x.size(); i += 3) x[i] = -kInf;
    Floats want = x;
    const float got_sum = k_.exp_sum(x.data(), n, 5);
    const float want_sum = oracle_.exp_sum(want.data(), n, 5);
    expect_close(x, want, 4e-7, 0);
    EXPECT_EQ(x[1], 0.0F);
    EXPECT_NEAR(got_sum, want_sum, 1e-6 * want_sum);
  }
  EXPECT_EQ(k_.exp_sum(nullptr, 0, 0), 0.0F);
}

TEST_P(VectorTable, MaskedKeysAtTheEndDoNotMoveTheSum) {
  for (const int64_t n : {16, 48, 112, 1008}) {
    Floats x = random_floats(n, 4, -9, 0);
    Floats longer = x;
    longer.resize(x.size() + 208, -std::numeric_limits<float>::infinity());
    const float sum = k_.exp_sum(x.data(), n, 0);
    for (int64_t extra = 16; extra <= 208; extra += 16) {
      Floats y(longer.begin(), longer.begin() + n + extra);
      EXPECT_EQ(k_.exp_sum(y.data(), n + extra, 0), sum) << n << " + " << extra;
    }
  }
}

std::vector<uint16_t> random_halves(int64_t n, uint64_t seed) {
  std::vector<uint16_t> out;
  for (const float x : random_floats(n, seed, -1, 1)) out.push_back(f16_from_f32(x));
  return out;
}

constexpr int64_t kHeadDims[] = {1, 2, 7, 8, 15, 16, 17, 64, 80, 100, 128, 256};
constexpr int64_t kPageCounts[] = {0, 1, 2, 3, 4, 5, 7, 16};
constexpr int64_t kPageRows = 15;  // more than two blocks of rows

// Pages of random halves that lie anywhere, and one more behind them as the page ahead.
struct RandomPages {
  std::vector<std::vector<uint16_t>> numbers;
  std::vector<const void*> pages;

  explicit RandomPages(int64_t dim) {
    for (uint64_t i = 0; i <= 16; ++i) numbers.push_back(random_halves(dim * kPageTokens, i + 1));
    for (const auto& page : numbers) pages.push_back(page.data());
  }
  PageRun run(int64_t n) const { return {pages.data(), n, 1}; }
};

TEST_P(VectorTable, PageScores) {
  for (const int64_t dim : kHeadDims) {
    const RandomPages keys(dim);
    const int64_t q_stride = dim + 3;
    const Floats q = random_floats(kPageRows * q_stride, 2, -1, 1);
    constexpr int64_t kStride = 16 * kPageTokens + 4;
    const auto scores_of = [&](const Kernels& table, int64_t n_rows, int64_t n_pages) {
      Floats scores(kPageRows * kStride, 777.0F);
      table.page_scores(
          {q.data(), q_stride, keys.run(n_pages), scores.data(), kStride, n_rows, dim, 0.3F});
      return scores;
    };
    const Floats whole = scores_of(k_, kPageRows, 16);
    expect_close(whole, scores_of(oracle_, kPageRows, 16), 1e-6,
                 1e-6 * std::sqrt(static_cast<double>(dim)));
    for (int64_t n_pages : kPageCounts) {
      for (int64_t n_rows = 0; n_rows <= kPageRows; ++n_rows) {
        const Floats part = scores_of(k_, n_rows, n_pages);
        for (size_t i = 0; i < part.size(); ++i) {
          const auto at = static_cast<int64_t>(i);
          const bool written = at / kStride < n_rows && at % kStride < n_pages * kPageTokens;
          ASSERT_EQ(part[i], written ? whole[i] : 777.0F)
              << "dim " << dim << ", " << n_rows << " rows, " << n_pages << " pages, number " << i;
        }
      }
    }
  }
}

TEST_P(VectorTable, PageValues) {
  for (const int64_t dim : kHeadDims) {
    const RandomPages values(dim);
    const int64_t stride = dim + 5;
    constexpr int64_t kStride = 16 * kPageTokens + 2;
    const Floats p = random_floats(kPageRows * kStride, 2, 0, 1);
    const auto values_of = [&](const Kernels& table, int64_t n_rows, int64_t n_pages) {
      Floats out(static_cast<size_t>(kPageRows * stride), 777.0F);
      table.page_values({p.data(), kStride, values.run(n_pages), out.data(), stride, n_rows, dim});
      return out;
    };
    for (int64_t n_pages : kPageCounts) {
      const Floats whole = values_of(k_, kPageRows, n_pages);
      expect_close(whole, values_of(oracle_, kPageRows, n_pages), 1e-6, 4e-6);
      for (int64_t n_rows = 0; n_rows < kPageRows; ++n_rows) {
        const Floats part = values_of(k_, n_rows, n_pages);
        for (size_t i = 0; i < part.size(); ++i) {
          const bool written = static_cast<int64_t>(i) / stride < n_rows;
          ASSERT_EQ(part[i], written ? whole[i] : 777.0F)
              << "dim " << dim << ", " << n_rows << " rows, " << n_pages << " pages, number " << i;
        }
      }
    }
  }
}

// Softmax leaves zeros where nothing is seen: pages of them at the end must not move a byte.
TEST_P(VectorTable, UnseenPagesAtTheEndDoNotMoveTheValues) {
  for (const int64_t dim : {16, 17, 64}) {
    const RandomPages values(dim);
    Floats p = random_floats(16 * kPageTokens, 2, 0, 1);
    std::fill(p.begin() + 5 * kPageTokens + 3, p.end(), 0.0F);
    Floats few(static_cast<size_t>(dim));
    Floats all(few.size());
    k_.page_values({p.data(), 0, values.run(6), few.data(), dim, 1, dim});
    k_.page_values({p.data(), 0, values.run(16), all.data(), dim, 1, dim});
    EXPECT_EQ(few, all);
  }
}

TEST_P(VectorTable, Largest) {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  EXPECT_EQ(k_.largest(nullptr, 0), -kInf);
  for (const int64_t n : {16, 32, 48, 256}) {
    Floats x = random_floats(n, 7);
    EXPECT_EQ(k_.largest(x.data(), n), *std::max_element(x.begin(), x.end()));
    for (size_t i = 0; i < x.size(); i += 3) x[i] = -kInf;
    EXPECT_EQ(k_.largest(x.data(), n), *std::max_element(x.begin(), x.end()));
    std::fill(x.begin(), x.end(), -kInf);
    EXPECT_EQ(k_.largest(x.data(), n), -kInf);
  }
}

TEST_P(VectorTable, Blend) {
  const Floats y = random_floats(6000, 4);
  compare([&](const Kernels& k, float* x, int64_t n) { k.blend(x, y.data(), n, 0.3F, 0.9F); }, 2e-6,
          2e-6);
}

TEST_P(VectorTable, StateStep) {
  struct Variant {
    bool reads, writes;
  };
  for (const Variant& variant : {Variant{false, false}, {true, false}, {true, true}}) {
    for (const int64_t n_keys : {1, 5, 64}) {
      for (const int64_t n_values : {1, 7, 16, 40, 64, 131}) {
        const auto rows = [&](uint64_t seed) { return random_floats(n_keys, seed, -1, 1); };
        const Floats read = rows(1);
        const Floats keep = rows(2);
        const Floats write = rows(3);
        const Floats key = rows(4);
        const Floats query = rows(5);
        const Floats value = random_floats(n_values, 6, -1, 1);
        const auto results = [&](const Kernels& table) {
          std::array<Floats, 3> r = {random_floats(n_keys * n_values, 7, -1, 1),
                                     Floats(static_cast<size_t>(n_values), 0.0F),
                                     Floats(static_cast<size_t>(n_values), 0.0F)};
          for (Floats& numbers : r) numbers = guarded(numbers);
          table.state_step({r[0].data(), n_keys, n_values, variant.reads ? read.data() : nullptr,
                            keep.data(), variant.writes ? write.data() : nullptr, key.data(),
                            value.data(), query.data(), r[1].data(), r[2].data()});
          return r;
        };
        const auto got = results(k_);
        auto want = results(oracle_);
        for (size_t i = 0; i < got.size(); ++i) {
          want[i].resize(want[i].size() - 16);
          expect_close(got[i], want[i], 1e-5, 1e-5);
        }
      }
    }
  }
}

TEST_P(VectorTable, ScanStep) {
  for (const int64_t n_states : {1, 5, 16}) {
    for (const int64_t n_columns : {1, 7, 16, 40, 64, 131}) {
      const auto columns = [&](uint64_t seed) { return random_floats(n_columns, seed, -1, 1); };
      const Floats step = random_floats(n_columns, 1, 0, 3);
      const Floats value = columns(2);
      const Floats b = random_floats(n_states, 3, -1, 1);
      const Floats c = random_floats(n_states, 4, -1, 1);
      const int64_t stride = n_columns + 3;
      const Floats rate = random_floats(n_states * stride, 5, -2, 0);
      const auto results = [&](const Kernels& table) {
        std::array<Floats, 2> r = {random_floats(n_states * n_columns, 6, -1, 1),
                                   Floats(static_cast<size_t>(n_columns), 0.0F)};
        for (Floats& numbers : r) numbers = guarded(numbers);
        table.scan_step({r[0].data(), n_states, n_columns, rate.data(), stride, step.data(),
                         value.data(), b.data(), c.data(), r[1].data()});
        return r;
      };
      const auto got = results(k_);
      auto want = results(oracle_);
      for (size_t i = 0; i < got.size(); ++i) {
        want[i].resize(want[i].size() - 16);
        expect_close(got[i], want[i], 1e-5, 1e-5);
      }
    }
  }
}

// Pages of random bytes, laid out for any type of page.
struct RandomBytePages {
  std::vector<std::vector<uint8_t>> bytes;
  std::vector<const void*> pages;

  explicit RandomBytePages(int64_t n_bytes) {
    for (uint64_t i = 0; i <= 16; ++i) {
      Rng rng(i + 5);
      std::vector<uint8_t> page(static_cast<size_t>(n_bytes));
      for (uint8_t& b : page) b = static_cast<uint8_t>(rng.below(256));
      bytes.push_back(std::move(page));
    }
    for (const auto& page : bytes) pages.push_back(page.data());
  }
  PageRun run(int64_t n) const { return {pages.data(), n, 1}; }
};

TEST_P(VectorTable, QuantizeHeadIsExact) {
  for (const int64_t n : kHeadDims) {
    for (const float size : {0.0F, 1e-30F, 1.0F, 1e30F}) {
      const Floats x = random_floats(n, 5, -size, size);
      std::vector<int8_t> got(x.size() + 1, 99);
      std::vector<int8_t> want = got;
      const HeadQuant a = k_.quantize_head(x.data(), got.data(), n);
      const HeadQuant b = oracle_.quantize_head(x.data(), want.data(), n);
      EXPECT_EQ(got, want);
      EXPECT_EQ(a.scale, b.scale);
      uint32_t scale_bits;
      std::memcpy(&scale_bits, &a.scale, 4);
      EXPECT_EQ(scale_bits & 0xFFFFU, 0U) << "not bf16";
      EXPECT_EQ(a.sum, b.sum);
    }
  }
}

TEST_P(VectorTable, ByteScoresAreExact) {
  for (const int64_t dim : kHeadDims) {
    const int64_t filled = (dim + 3) / 4 * 4;
    const RandomBytePages keys(filled * kPageTokens);
    std::vector<int8_t> q(static_cast<size_t>(kPageRows * filled));
    std::vector<int32_t> sums(kPageRows);
    Rng rng(8);
    for (size_t i = 0; i < q.size(); ++i) {
      if (static_cast<int64_t>(i) % filled >= dim) continue;
      q[i] = static_cast<int8_t>(static_cast<int>(rng.below(255)) - 127);
      sums[i / static_cast<size_t>(filled)] += q[i];
    }
    const Floats q_scale = random_floats(kPageRows, 3, 0, 1);
    const Floats key_scale = random_floats(16 * kPageTokens, 4, 0, 0.1F);
    constexpr int64_t kStride = 16 * kPageTokens + 4;
    const auto scores_of = [&](const Kernels& table, int64_t n_rows, int64_t n_pages) {
      Floats scores(kPageRows * kStride, 777.0F);
      table.byte_scores({q.data(), filled, q_scale.data(), sums.data(), keys.run(n_pages),
                         key_scale.data(), scores.data(), kStride, n_rows, dim});
      return scores;
    };
    for (int64_t n_pages : kPageCounts) {
      for (int64_t n_rows = 0; n_rows <= kPageRows; ++n_rows) {
        ASSERT_EQ(scores_of(k_, n_rows, n_pages), scores_of(oracle_, n_rows, n_pages))
            << "dim " << dim << ", " << n_rows << " rows, " << n_pages << " pages";
      }
    }
  }
}

TEST_P(VectorTable, CodeScoresAreExact) {
  for (const int bits : {4, 2}) {
    for (const int64_t dim : kHeadDims) {
      const int64_t filled = (dim + 15) / 16 * 16;
      const RandomBytePages keys(filled * kPageTokens * bits / 8);
      std::vector<int8_t> q(static_cast<size_t>(kPageRows * filled));
      std::vector<int32_t> sums(kPageRows);
      Rng rng(8);
      for (size_t i = 0; i < q.size(); ++i) {
        if (static_cast<int64_t>(i) % filled >= dim) continue;
        q[i] = static_cast<int8_t>(static_cast<int>(rng.below(255)) - 127);
        sums[i / static_cast<size_t>(filled)] += q[i];
      }
      const Floats q_scale = random_floats(kPageRows, 3, 0, 1);
      const Floats scale = random_floats(16 * kPageTokens, 4, 0, 0.1F);
      const Floats middle = random_floats(16 * kPageTokens, 5, -1, 1);
      constexpr int64_t kStride = 16 * kPageTokens + 4;
      const auto scores_of = [&](const Kernels& table, int64_t n_rows, int64_t n_pages) {
        Floats scores(kPageRows * kStride, 777.0F);
        table.code_scores({q.data(), filled, q_scale.data(), sums.data(), keys.run(n_pages),
                           scale.data(), middle.data(), scores.data(), kStride, n_rows, dim, bits});
        return scores;
      };
      for (int64_t n_pages : kPageCounts) {
        for (int64_t n_rows = 0; n_rows <= kPageRows; ++n_rows) {
          ASSERT_EQ(scores_of(k_, n_rows, n_pages), scores_of(oracle_, n_rows, n_pages))
              << bits << " bits, dim " << dim << ", " << n_rows << " rows, " << n_pages << " pages";
        }
      }
    }
  }
}

TEST_P(VectorTable, CodeValuesAreExact) {
  for (const int bits : {4, 2}) {
    for (const int64_t dim : kHeadDims) {
      const RandomBytePages values(dim * kPageTokens * bits / 8);
      const int64_t stride = dim + 5;
      constexpr int64_t kStride = 16 * kPageTokens + 2;
      std::vector<int16_t> weights(kPageRows * kStride);
      Rng rng(9);
      for (int16_t& w : weights) w = static_cast<int16_t>(rng.below(32768));
      std::fill_n(weights.begin(), kStride, int16_t{32767});  // the largest sums there are
      const Floats scale = random_floats(kPageRows, 3, 0, 1);
      const Floats offset = random_floats(kPageRows, 4, -1, 1);
      const auto values_of = [&](const Kernels& table, int64_t n_rows, int64_t n_pages) {
        Floats out(static_cast<size_t>(kPageRows * stride), 777.0F);
        table.code_values({weights.data(), kStride, scale.data(), offset.data(),
                           values.run(n_pages), out.data(), stride, n_rows, dim, bits});
        return out;
      };
      for (int64_t n_pages : kPageCounts) {
        for (int64_t n_rows = 0; n_rows <= kPageRows; ++n_rows) {
          ASSERT_EQ(values_of(k_, n_rows, n_pages), values_of(oracle_, n_rows, n_pages))
              << bits << " bits, dim " << dim << ", " << n_rows << " rows, " << n_pages << " pages";
        }
      }
    }
  }
}

// The weights are those of int8 values; unseen tokens at the end do not move the offset.
TEST_P(VectorTable, CodeWeights) {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  for (const int64_t n : {0, 16, 32, 48, 64, 80, 256}) {
    Floats scores = random_floats(n + 112, 6, -12, 0);
    std::fill(scores.begin() + n, scores.end(), -kInf);
    const Floats scales = random_floats(n + 112, 7, 0, 0.5F);
    const Floats lows = random_floats(n + 112, 8, -2, 1);
    const float unit = 32767 / 0.5F;
    std::vector<int16_t> got(scores.size());
    std::vector<int16_t> want(scores.size());
    const CodeWeights sums =
        k_.code_weights(scores.data(), scales.data(), lows.data(), got.data(), n, 0, unit);
    const CodeWeights expected =
        oracle_.code_weights(scores.data(), scales.data(), lows.data(), want.data(), n, 0, unit);
    EXPECT_EQ(sums.sum, k_.byte_weights(scores.data(), scales.data(), want.data(), n, 0, unit));
    EXPECT_EQ(got, want);
    EXPECT_NEAR(sums.offset, expected.offset, 1e-5F * expected.sum);
    const CodeWeights longer =
        k_.code_weights(scores.data(), scales.data(), lows.data(), got.data(), n + 112, 0, unit);
    EXPECT_EQ(longer.sum, sums.sum);
    EXPECT_EQ(longer.offset, sums.offset);
  }
}

TEST_P(VectorTable, ByteValuesAreExact) {
  for (const int64_t dim : kHeadDims) {
    const RandomBytePages values(dim * kPageTokens);
    const int64_t stride = dim + 5;
    constexpr int64_t kStride = 16 * kPageTokens + 2;
    std::vector<int16_t> weights(kPageRows * kStride);
    Rng rng(9);
    for (int16_t& w : weights) w = static_cast<int16_t>(rng.below(32768));
    std::fill_n(weights.begin(), kStride, int16_t{32767});  // the largest sums there are
    const Floats scale = random_floats(kPageRows, 3, 0, 1);
    const auto values_of = [&](const Kernels& table, int64_t n_rows, int64_t n_pages) {
      Floats out(static_cast<size_t>(kPageRows * stride), 777.0F);
      table.byte_values({weights.data(), kStride, scale.data(), values.run(n_pages), out.data(),
                         stride, n_rows, dim});
      return out;
    };
    for (int64_t n_pages : kPageCounts) {
      for (int64_t n_rows = 0; n_rows <= kPageRows; ++n_rows) {
        ASSERT_EQ(values_of(k_, n_rows, n_pages), values_of(oracle_, n_rows, n_pages))
            << "dim " << dim << ", " << n_rows << " rows, " << n_pages << " pages";
      }
    }
  }
}

// Rows whose values a kernel may widen once for all of them, against calls of a few rows each.
TEST_P(VectorTable, ValuesOfManyRowsAreThoseOfFew) {
  constexpr int64_t kMostRows = 97;
  constexpr int64_t kStride = 16 * kPageTokens + 2;
  const Floats p = random_floats(kMostRows * kStride, 2, 0, 1);
  std::vector<int16_t> weights(p.size());
  Rng rng(9);
  for (int16_t& w : weights) w = static_cast<int16_t>(rng.below(32768));
  const Floats scale = random_floats(kMostRows, 3, 0, 1);
  for (const int64_t dim : kHeadDims) {
    const RandomPages halves(dim);
    const RandomBytePages bytes(dim * kPageTokens);
    const int64_t stride = dim + 5;
    const auto values_of = [&](int64_t n_pages, int64_t n_rows, int64_t at_once, bool of_bytes) {
      Floats out(static_cast<size_t>(kMostRows * stride), 777.0F);
      for (int64_t row = 0; row < n_rows; row += at_once) {
        const int64_t n = std::min(at_once, n_rows - row);
        float* const to = out.data() + row * stride;
        if (of_bytes) {
          k_.byte_values({weights.data() + row * kStride, kStride, scale.data() + row,
                          bytes.run(n_pages), to, stride, n, dim});
        } else {
          k_.page_values(
              {p.data() + row * kStride, kStride, halves.run(n_pages), to, stride, n, dim});
        }
      }
      return out;
    };
    for (const int64_t n_pages : {1, 5, 16}) {
      for (const int64_t n_rows : {47, 48, 49, 97}) {
        for (const bool of_bytes : {false, true}) {
          ASSERT_EQ(values_of(n_pages, n_rows, n_rows, of_bytes),
                    values_of(n_pages, n_rows, kPageRows, of_bytes))
              << "dim " << dim << ", " << n_rows << " rows, " << n_pages << " pages, "
              << (of_bytes ? "int8" : "f16");
        }
      }
    }
  }
}

TEST_P(VectorTable, ByteWeights) {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  for (const int64_t n : {0, 16, 32, 48, 64, 80, 256}) {
    Floats scores = random_floats(n, 6, -12, 0);
    if (n > 0) scores[3] = 0;
    for (size_t i = 1; i < scores.size(); i += 3) scores[i] = -kInf;
    const Floats scales = random_floats(n, 7, 0, 0.5F);
    std::vector<int16_t> got(scores.size() + 1, 77);
    std::vector<int16_t> want = got;
    const float unit = 32767 / 0.5F;
    const float sum = k_.byte_weights(scores.data(), scales.data(), got.data(), n, 0, unit);
    const float expected =
        oracle_.byte_weights(scores.data(), scales.data(), want.data(), n, 0, unit);
    EXPECT_NEAR(sum, expected, 5e-6 * expected);
    for (size_t i = 0; i < got.size(); ++i) ASSERT_NEAR(got[i], want[i], 1) << i;
    for (size_t i = 1; i < scores.size(); i += 3) ASSERT_EQ(got[i], 0) << i;
    // Unseen tokens at the end move neither the weights nor the sum.
    Floats longer = scores;
    longer.resize(scores.size() + 112, -kInf);
    const Floats long_scales = random_floats(n + 112, 7, 0, 0.5F);
    std::vector<int16_t> again(longer.size());
    std::vector<int16_t> seen(longer.size());
    const float first = k_.byte_weights(longer.data(), long_scales.data(), seen.data(), n, 0, unit);
    EXPECT_EQ(k_.byte_weights(longer.data(), long_scales.data(), again.data(), n + 112, 0, unit),
              first);
    EXPECT_EQ(again, seen);
  }
}

TEST_P(VectorTable, ToF16IsExact) {
  for (const int64_t n : kLengths) {
    Floats x = random_floats(n, 9, -1e5F, 1e5F);
    for (size_t i = 0; i < x.size(); i += 5) x[i] *= 1e-12F;
    for (size_t i = 0; i < x.size(); i += 3) x[i] *= 1e-5F;
    std::vector<uint16_t> got(x.size() + 1, 0x1234);
    k_.to_f16(x.data(), got.data(), n);
    for (size_t i = 0; i < x.size(); ++i) ASSERT_EQ(got[i], f16_from_f32(x[i])) << x[i];
    ASSERT_EQ(got.back(), 0x1234);
  }
}

TEST_P(VectorTable, ToBf16IsExactButForSubnormals) {
  for (const int64_t n : kLengths) {
    Floats x = random_floats(n, 9, -1e5F, 1e5F);
    for (size_t i = 0; i < x.size(); i += 5) x[i] *= 1e-30F;
    std::vector<uint16_t> got(x.size() + 1, 0x1234);
    k_.to_bf16(x.data(), got.data(), n);
    for (size_t i = 0; i < x.size(); ++i) ASSERT_EQ(got[i], bf16_from_f32(x[i])) << x[i];
    ASSERT_EQ(got.back(), 0x1234);
  }
}

TEST_P(VectorTable, Int8PeakCountsItsWork) {
  int32_t sink = 3;
  EXPECT_GT(k_.int8_peak(10, &sink), 0);
  int32_t twice = 3;
  EXPECT_EQ(k_.int8_peak(20, &twice), 2 * k_.int8_peak(10, &sink));
}

TEST_P(VectorTable, FloatPeaksCountTheirWork) {
  for (const auto peak : {k_.f32_peak, k_.bf16_peak}) {
    if (peak == nullptr) continue;
    float sink = 3;
    const int64_t n = peak(10, &sink);
    EXPECT_GT(n, 0);
    float twice = 3;
    EXPECT_EQ(peak(20, &twice), 2 * n);
    EXPECT_TRUE(std::isfinite(sink));
  }
}

TEST_P(VectorTable, SumWords) {
  for (const int64_t n : {0, 64, 128, 4096}) {
    Rng rng(static_cast<uint64_t>(n));
    std::vector<uint64_t> words(static_cast<size_t>(n));
    uint64_t want = 0;
    for (uint64_t& w : words) want += w = rng.next();
    EXPECT_EQ(k_.sum_words(words.data(), n), want);
  }
}

INSTANTIATE_TEST_SUITE_P(Tables, VectorTable,
                         testing::ValuesIn(all_kernels().begin(), all_kernels().end()),
                         [](const auto& info) { return std::string(info.param->isa); });

TEST(Dispatch, ReferenceComesFirstAndNamesAreFound) {
  ASSERT_FALSE(all_kernels().empty());
  EXPECT_STREQ(all_kernels().front()->isa, "ref");
  for (const Kernels* k : all_kernels()) EXPECT_EQ(find_kernels(k->isa), k);
  EXPECT_EQ(find_kernels("mmx"), nullptr);
  EXPECT_EQ(find_kernels(""), nullptr);
}

TEST(Dispatch, ChosenTableIsOneOfAll) { EXPECT_EQ(find_kernels(kernels().isa), &kernels()); }

// CTest runs this with RUV_ISA set to each table and to nonsense.
TEST(Dispatch, EnvironmentForcesATableThatRunsHere) {
  const char* const forced = std::getenv("RUV_ISA");
  if (forced == nullptr) GTEST_SKIP() << "RUV_ISA is not set";
  const Kernels* const wanted = find_kernels(forced);
  EXPECT_EQ(&kernels(), wanted != nullptr ? wanted : all_kernels().back());
}

TEST(Dispatch, PortableTableIsTheBestOfThem) {
  EXPECT_TRUE(portable_kernels().portable);
  if (kernels().portable) {
    EXPECT_EQ(&portable_kernels(), &kernels());
  }
  for (const Kernels* k : all_kernels()) {
    for (const DType weight : {DType::f16, DType::bf16}) {
      const bool rounds = find_gemm(*k, weight)->act == ActFormat::bf16;
      EXPECT_EQ(k->portable, !rounds) << k->isa;
    }
  }
}

TEST(Dispatch, UnknownFormatHasNoRow) {
  EXPECT_EQ(find_gemm(kernels(), DType::iq4_kt), nullptr);
  EXPECT_NE(find_gemm(kernels(), DType::q4_k), nullptr);
}

}  // namespace
}  // namespace ruv::vectors_test
