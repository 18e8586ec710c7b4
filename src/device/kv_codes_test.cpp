#include "device/kv_codes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "base/rng.h"
#include "base/worker_pool.h"
#include "kernels/kernels.h"

namespace ruv::kv_codes_test {
namespace {

std::vector<float> random_numbers(int64_t n, uint64_t seed, double low, double high) {
  Rng rng(seed);
  std::vector<float> x(static_cast<size_t>(n));
  for (float& v : x) v = static_cast<float>(low + (high - low) * rng.uniform());
  return x;
}

TEST(QuantizeCodes, EveryNumberIsHalfAStepFromItsCode) {
  for (const int bits : {4, 2}) {
    for (const auto& [low, high] : {std::pair{-1.0, 1.0},
                                    {5.0, 5.5},
                                    {-5.5, -5.0},
                                    {-100.3, -100.0},
                                    {-900.0, -1.0},
                                    {0.0, 1e30}}) {
      const std::vector<float> x = random_numbers(64, 3, low, high);
      std::vector<uint8_t> codes(x.size());
      const CodeScale by = quantize_codes(x.data(), codes.data(), 64, bits);
      const float scale = f32_of_bf16(by.scale);
      EXPECT_LE(f32_of_bf16(by.low), *std::min_element(x.begin(), x.end()));
      for (size_t i = 0; i < x.size(); ++i) {
        ASSERT_LT(codes[i], 1 << bits);
        const float back = f32_of_bf16(by.low) + scale * static_cast<float>(codes[i]);
        EXPECT_NEAR(back, x[i], 0.501F * scale) << bits << " bits of " << x[i];
      }
      // The step is not much wider than the numbers ask for.
      const float bf16_step =
          0.01F * std::max(std::fabs(static_cast<float>(low)), std::fabs(static_cast<float>(high)));
      EXPECT_LE(scale * static_cast<float>((1 << bits) - 1),
                static_cast<float>(high - low) * 1.01F + bf16_step);
    }
  }
}

TEST(QuantizeCodes, EqualNumbersHaveNoScale) {
  const std::vector<float> x(10, 0.75F);
  std::vector<uint8_t> codes(10, 9);
  const CodeScale by = quantize_codes(x.data(), codes.data(), 10, 4);
  EXPECT_EQ(f32_of_bf16(by.low), 0.75F);
  EXPECT_EQ(by.scale, 0);
  EXPECT_EQ(codes, std::vector<uint8_t>(10, 0));
}

TEST(QuantizeCodes, NumbersThatAreNoneStayCodes) {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  for (const float odd : {kInf, -kInf, kNan}) {
    const std::vector<float> x = {1, odd, -2, 3};
    std::vector<uint8_t> codes(4, 99);
    quantize_codes(x.data(), codes.data(), 4, 2);
    for (const uint8_t code : codes) EXPECT_LT(code, 4);
  }
}

// A word of values holds several tokens, and rows of a prompt are stored by all threads.
TEST(StoreCodes, ThreadsMayShareAPage) {
  constexpr int64_t kHeadDim = 64;
  std::vector<uint8_t> codes(kPageTokens * kHeadDim);
  Rng rng(6);
  for (const int bits : {4, 2}) {
    for (uint8_t& code : codes) code = static_cast<uint8_t>(rng.below(1U << bits));
    std::vector<uint32_t> expected(static_cast<size_t>(kHeadDim * kPageTokens * bits / 32));
    const auto store = [&](std::vector<uint32_t>& words, int64_t slot) {
      store_value_codes(codes.data() + slot * kHeadDim, kHeadDim, slot, bits, words.data());
    };
    for (int64_t slot = 0; slot < kPageTokens; ++slot) store(expected, slot);
    WorkerPool pool(2);
    std::vector<uint32_t> words(expected.size(), 0x5A5A5A5AU);
    pool.run([&](int thread) {
      // Long enough that the threads meet.
      const std::vector<uint8_t> others(kHeadDim, 1);
      for (int round = 0; round < 2000; ++round) {
        for (int64_t slot = thread; slot < kPageTokens; slot += 2) {
          store_value_codes(others.data(), kHeadDim, slot, bits, words.data());
          store(words, slot);
        }
      }
    });
    EXPECT_EQ(words, expected) << bits << " bits";
  }
}

TEST(RotateHead, KeepsProductsAndUndoesItself) {
  for (const int64_t n : {1, 2, 6, 16, 64, 80, 96, 128, 100}) {
    const std::vector<float> x = random_numbers(n, 1, -1, 1);
    const std::vector<float> y = random_numbers(n, 2, -1, 1);
    std::vector<float> a = x;
    std::vector<float> b = y;
    rotate_head(a.data(), n);
    rotate_head(b.data(), n);
    double before = 0;
    double after = 0;
    for (size_t i = 0; i < x.size(); ++i) {
      before += double{x[i]} * double{y[i]};
      after += double{a[i]} * double{b[i]};
    }
    EXPECT_NEAR(after, before, 1e-4) << n;
    rotate_head(a.data(), n);
    for (size_t i = 0; i < x.size(); ++i) EXPECT_NEAR(a[i], x[i], 1e-5F) << n;
  }
}

TEST(RotateHead, SpreadsAnOutlier) {
  std::vector<float> x(64, 0.0F);
  x[5] = 8;
  rotate_head(x.data(), 64);
  for (const float v : x) EXPECT_NEAR(std::fabs(v), 1.0F, 1e-6F);
}

}  // namespace
}  // namespace ruv::kv_codes_test
