#include "base/elementary.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>

#include "base/rng.h"

namespace ruv {
namespace {

// Of 100,000 arguments in [low, high): f agrees with `reference` and its bits have the hash.
template <class F, class Reference>
void check(double low, double high, double error, uint64_t expected, F f, Reference reference) {
  Rng rng(1);
  uint64_t hash = 0;
  for (int i = 0; i < 100000; ++i) {
    const double x = low + (high - low) * rng.uniform();
    const double got = f(x);
    const double want = reference(x);
    ASSERT_NEAR(got, want, error * std::fmax(1e-3, std::fabs(want))) << x;
    hash = (hash ^ std::bit_cast<uint64_t>(got)) * 0x9E3779B97F4A7C15ULL;
    hash ^= hash >> 29;
  }
  EXPECT_EQ(hash, expected) << std::hex << hash;
}

TEST(Elementary, Exp) {
  check(-708, 709, 1e-15, 0x2B79AAB477BBFFD4, exact_exp, [](double x) { return std::exp(x); });
  EXPECT_EQ(exact_exp(0), 1.0);
  EXPECT_EQ(exact_exp(-709), 0.0);
  EXPECT_TRUE(std::isinf(exact_exp(710)));
  EXPECT_TRUE(std::isnan(exact_exp(NAN)));
}

TEST(Elementary, Log) {
  check(0, 4, 1e-15, 0xCA15930BB8DFB0A4, exact_log, [](double x) { return std::log(x); });
  check(4, 1e9, 1e-15, 0x1FD490F32815BA6B, exact_log, [](double x) { return std::log(x); });
  EXPECT_EQ(exact_log(1), 0.0);
  EXPECT_NEAR(exact_log(1e-310), std::log(1e-310), 1e-12);
  EXPECT_NEAR(exact_log(1e300), std::log(1e300), 1e-12);
}

TEST(Elementary, Softplus) {
  for (double x = -30; x < 30; x += 0.37) {
    EXPECT_NEAR(exact_softplus(x), std::log1p(std::exp(x)), 3e-9) << x;
  }
  EXPECT_EQ(exact_softplus(700), 700);
  EXPECT_TRUE(std::isnan(exact_softplus(std::nan(""))));
}

TEST(Elementary, Tanh) {
  for (double x = -25; x < 25; x += 0.0371) {
    EXPECT_NEAR(exact_tanh(x), std::tanh(x), 1e-11 * std::abs(std::tanh(x))) << x;
  }
  for (const double x : {0.0, 1e-9, -3e-5, 9.9e-4, 1.01e-3}) {
    EXPECT_NEAR(exact_tanh(x), std::tanh(x), 1e-11 * std::abs(x)) << x;
  }
  EXPECT_EQ(exact_tanh(700), 1);
  EXPECT_EQ(exact_tanh(-700), -1);
}

TEST(Elementary, PowOfRopeFrequencies) {
  check(
      0, 1, 1e-14, 0xB19B15D74A36A2C5, [](double y) { return exact_pow(1e6, y); },
      [](double y) { return std::pow(1e6, y); });
}

struct Turns {
  double high;
  uint64_t sin, cos;
};

TEST(Elementary, SinCos) {
  constexpr Turns kTurns[] = {
      {1, 0x96E19B615948051F, 0x9A8F674A2A9CD499},
      {100, 0x3EE3971D3B9273CD, 0x0ACC94FC8F7A75CB},
      {131072, 0x8A733B389F649289, 0x1CFA908B9BA709B8},
      {6e7, 0x7AD8A7DADB609C66, 0x855B370B6B72E632},
  };
  for (const Turns& t : kTurns) {
    check(
        -t.high, t.high, 1e-15, t.sin, [](double x) { return exact_sin_cos(x).sin; },
        [](double x) { return std::sin(x); });
    check(
        -t.high, t.high, 1e-15, t.cos, [](double x) { return exact_sin_cos(x).cos; },
        [](double x) { return std::cos(x); });
  }
}

}  // namespace
}  // namespace ruv
