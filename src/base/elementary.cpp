#include "base/elementary.h"

#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace ruv {
namespace {

constexpr double kLn2High = 0x1.62e42feep-1;  // 32 bits: its products with exponents are exact
constexpr double kLn2Low = 0x1.a39ef35793c76p-33;

// To the nearest integer, |x| < 2^51: what has no bits left for a fraction is rounded.
double rounded(double x) {
  constexpr double kNoFraction = 0x1.8p52;
  return (x + kNoFraction) - kNoFraction;
}

// Σ c[i] x^i
template <size_t N>
double polynomial(const std::array<double, N>& c, double x) {
  double sum = c[N - 1];
  for (size_t i = N - 1; i-- > 0;) sum = sum * x + c[i];
  return sum;
}

// 1 / (first + step · i)!, signs alternating where `turns`.
template <size_t N>
constexpr std::array<double, N> inverse_factorials(int first, int step, bool turns) {
  std::array<double, N> c{};
  double factorial = 1;
  for (int n = 2; n <= first; ++n) factorial *= n;
  for (size_t i = 0; i < N; ++i) {
    c[i] = (turns && i % 2 == 1 ? -1 : 1) / factorial;
    for (int n = 1; n <= step; ++n) factorial *= first + step * static_cast<int>(i) + n;
  }
  return c;
}

}  // namespace

double exact_exp(double x) {
  if (x < -708) return 0;
  if (x > 709) return std::numeric_limits<double>::infinity();
  if (x != x) return x;
  const double n = rounded(x * 1.4426950408889634);
  const double r = (x - n * kLn2High) - n * kLn2Low;
  static constexpr auto kTaylor = inverse_factorials<14>(0, 1, false);
  const auto bits = static_cast<uint64_t>(static_cast<int64_t>(n) + 1023) << 52;
  return polynomial(kTaylor, r) * std::bit_cast<double>(bits);
}

double exact_log(double x) {
  constexpr double kSubnormal = 0x1p-1022;
  if (x < kSubnormal) return exact_log(x * 0x1p54) - 54 * (kLn2High + kLn2Low);
  const auto bits = std::bit_cast<uint64_t>(x);
  constexpr uint64_t kRootHalf = 0x3FE6A09E667F3BCDULL;
  const uint64_t above = bits - kRootHalf;  // x / √½, an exponent and a mantissa
  const auto exponent = static_cast<int64_t>(above) >> 52;
  const double m = std::bit_cast<double>(bits - (static_cast<uint64_t>(exponent) << 52));
  // log m = 2 artanh s
  const double s = (m - 1) / (m + 1);
  static constexpr std::array<double, 10> kOdd = {1.0 / 3,  1.0 / 5,  1.0 / 7,  1.0 / 9,  1.0 / 11,
                                                  1.0 / 13, 1.0 / 15, 1.0 / 17, 1.0 / 19, 1.0 / 21};
  const double tail = s * (s * s) * polynomial(kOdd, s * s);
  const auto e = static_cast<double>(exponent);
  return e * kLn2High + (2 * s + (2 * tail + e * kLn2Low));
}

double exact_softplus(double x) {
  if (!(x <= 20)) return x;
  return exact_log(1 + exact_exp(x));
}

double exact_tanh(double x) {
  // Near 0 the difference below has no bits left.
  if (std::abs(x) < 1e-3) return x - x * x * x / 3;
  const double e = exact_exp(-2 * std::abs(x));
  const double y = (1 - e) / (1 + e);
  return x < 0 ? -y : y;
}

double exact_pow(double x, double y) { return exact_exp(y * exact_log(x)); }

SinCos exact_sin_cos(double x) {
  // Quarter turns in three pieces of 26 bits and what is left: the first products are exact.
  const double n = rounded(x * 0.6366197723675814);
  const double r = ((x - n * 0x1.921fb5p+0) - n * 0x1.110b46p-26) - n * 0x1.1a62633145c07p-54;
  static constexpr auto kSin = inverse_factorials<8>(3, 2, true);
  static constexpr auto kCos = inverse_factorials<8>(4, 2, true);
  const double square = r * r;
  const double sin = r - r * square * polynomial(kSin, square);
  const double cos = 1 - (square * 0.5 - square * square * polynomial(kCos, square));
  switch (static_cast<int64_t>(n) & 3) {
    case 0:
      return {sin, cos};
    case 1:
      return {cos, -sin};
    case 2:
      return {-sin, -cos};
    default:
      return {-cos, sin};
  }
}

}  // namespace ruv
