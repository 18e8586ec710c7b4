// What both drivers of bench/neon/count.py share: the shape that is multiplied, random numbers, and
// the marks between which executed instructions are counted.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace ruv::counted {

constexpr int64_t kK = 2048;
constexpr int64_t kColumns = 64;

// Counting is from the call of one to the call of the other; count.py knows their addresses.
extern "C" [[gnu::noinline]] inline void ruv_count_begin() { asm volatile("nop" ::: "memory"); }
extern "C" [[gnu::noinline]] inline void ruv_count_end() { asm volatile("nop" ::: "memory"); }

// Counts `work`, and says on a line of stdout what it was: the name and the multiply-adds.
template <class Work>
void count(const char* name, int64_t n_rows, const Work& work) {
  ruv_count_begin();
  work();
  ruv_count_end();
  std::printf("%s %lld %lld\n", name, static_cast<long long>(n_rows),
              static_cast<long long>(n_rows * kColumns * kK));
}

// n rounds of a loop of one load, two vector instructions and two others, by which count.py checks
// its own counter.
inline void count_known_loop(int64_t n) {
  const float numbers[4] = {1, 2, 3, 4};
  count("loop", n, [&] {
    int64_t left = n;
    asm volatile(
        "1: ldr q0, [%1]\n"
        "fadd v1.4s, v0.4s, v0.4s\n"
        "fmul v1.4s, v0.4s, v0.4s\n"
        "subs %0, %0, #1\n"
        "b.ne 1b\n"
        : "+r"(left)
        : "r"(numbers)
        : "v0", "v1", "cc", "memory");
  });
}

// n bytes below 64: as f16 or float32 they are finite and below 2, wherever a format has its
// scales.
inline std::vector<std::byte> random_bytes(int64_t n) {
  std::vector<std::byte> bytes(static_cast<size_t>(n));
  uint64_t state = 1;
  for (std::byte& b : bytes) {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    b = static_cast<std::byte>(state >> 58);
  }
  return bytes;
}

// n_rows rows of kK numbers in [-1, 1).
inline std::vector<float> random_activations(int64_t n_rows) {
  std::vector<float> x(static_cast<size_t>(n_rows * kK));
  uint64_t state = 2;
  for (float& value : x) {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    value = static_cast<float>(static_cast<int32_t>(state >> 32)) * 0x1p-31F;
  }
  return x;
}

// The greatest difference over the greatest magnitude of `expected`; infinite where one is NaN.
inline double relative_error(const std::vector<float>& got, const std::vector<float>& expected) {
  double greatest = 0;
  double error = 0;
  for (size_t i = 0; i < got.size(); ++i) {
    greatest = std::fmax(greatest, std::fabs(expected[i]));
    const double difference = std::fabs(static_cast<double>(got[i]) - expected[i]);
    if (!(difference <= 1e30)) return INFINITY;
    error = std::fmax(error, difference);
  }
  return greatest > 0 ? error / greatest : INFINITY;
}

}  // namespace ruv::counted
