// ruv_bench_distances: nanoseconds of a distance between two vectors, a query against 64 rows that
// caches hold, for every instruction set of the machine.
//   ruv_bench_distances [n_dims 768]
#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "base/clock.h"
#include "base/rng.h"
#include "kernels/distances.h"

namespace ruv {
namespace {

constexpr size_t kRows = 64;
constexpr int kCalls = 20'000;
constexpr int kRounds = 9;

template <class Number>
struct Rows {
  explicit Rows(int64_t n) : numbers((kRows + 1) * static_cast<size_t>(n)) {
    Rng rng(1);
    for (Number& number : numbers)
      number = static_cast<Number>(static_cast<int>(rng.below(200)) - 100);
    for (size_t i = 0; i < kRows; ++i) rows[i] = numbers.data() + (i + 1) * static_cast<size_t>(n);
  }
  std::vector<Number> numbers;
  std::array<const Number*, kRows> rows = {};
};

// The median of the rounds.
template <class Number, class Distance>
double nanoseconds(DistanceKernel<Number, Distance> kernel, const Rows<Number>& data, int64_t n) {
  std::array<Distance, kRows> out = {};
  std::vector<double> rounds;
  for (int round = 0; round < kRounds; ++round) {
    const int64_t start = SteadyClock().now_ns();
    for (int i = 0; i < kCalls; ++i)
      kernel(data.numbers.data(), data.rows.data(), kRows, n, out.data());
    const auto ns = static_cast<double>(SteadyClock().now_ns() - start);
    rounds.push_back(ns / (double{kRows} * kCalls));
  }
  std::ranges::sort(rounds);
  return rounds[rounds.size() / 2];
}

void print(const DistanceKernels& kernels, int64_t n) {
  const Rows<float> floats(n);
  const Rows<int8_t> bytes(n);
  const Rows<uint8_t> bits(n / 8);
  std::printf("| %.*s | %.1f | %.1f | %.1f | %.1f | %.2f |\n", static_cast<int>(kernels.isa.size()),
              kernels.isa.data(), nanoseconds(kernels.l2, floats, n),
              nanoseconds(kernels.dot, floats, n), nanoseconds(kernels.manhattan, floats, n),
              nanoseconds(kernels.dot_int8, bytes, n), nanoseconds(kernels.hamming, bits, n / 8));
}

}  // namespace
}  // namespace ruv

int main(int argc, char** argv) {
  const int64_t n = argc > 1 ? std::atoll(argv[1]) : 768;
  if (n < 64 || n > 65'536 || n % 64 != 0) {
    std::fprintf(stderr, "n_dims: a multiple of 64 up to 65536\n");
    return 2;
  }
  std::printf(
      "| ns of one, %lld numbers | L2 | dot | Manhattan | dot of int8 | Hamming |\n"
      "|---|---|---|---|---|---|\n",
      static_cast<long long>(n));
  for (const ruv::DistanceKernels* kernels : ruv::all_distance_kernels()) ruv::print(*kernels, n);
}
