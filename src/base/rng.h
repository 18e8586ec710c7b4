// Rng: xoshiro256** seeded by splitmix64 (Blackman and Vigna, 2018). Equal seeds give equal numbers
// on every machine, which the standard library's distributions do not promise. Not for secrets: its
// output can be predicted. Not thread-safe.
#pragma once

#include <bit>
#include <cstdint>

namespace ruv {

class Rng {
 public:
  // Any seed will do, 0 included: splitmix64 spreads it over the whole state.
  explicit Rng(uint64_t seed) {
    for (uint64_t& word : state_) {
      seed += 0x9E3779B97F4A7C15ULL;
      uint64_t z = seed;
      z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
      z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
      word = z ^ (z >> 31);
    }
  }
  // 64 random bits.
  uint64_t next() {
    const uint64_t result = std::rotl(state_[1] * 5, 7) * 9;
    const uint64_t t = state_[1] << 17;
    state_[2] ^= state_[0];
    state_[3] ^= state_[1];
    state_[1] ^= state_[2];
    state_[0] ^= state_[3];
    state_[2] ^= t;
    state_[3] = std::rotl(state_[3], 45);
    return result;
  }
  // In [0, 1), 53 random bits.
  double uniform() { return static_cast<double>(next() >> 11) * 0x1.0p-53; }
  // In [0, n). Requires: n > 0. The bias of the multiply method is below n / 2^64.
  uint64_t below(uint64_t n) {
    return static_cast<uint64_t>((static_cast<unsigned __int128>(next()) * n) >> 64);
  }

 private:
  // 256 bits, never all zero.
  uint64_t state_[4] = {};
};

}  // namespace ruv
