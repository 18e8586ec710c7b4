// The signs of the codebook formats, which hold magnitudes: a bit for each number, or seven bits
// for eight numbers of which an even count is negative.
#pragma once

#include <cmath>
#include <cstdint>

#include "tensor/formats/block.h"

namespace ruv {

// A super-block without its signs.
struct UnsignedBlock {
  float x[kSuperBlock];
  uint8_t minus[kSuperBlock / 8] = {};  // bit i: number i of these eight is negative
};

// Where the count must be even and is not, the sign that matters least is written wrong; its number
// is then negative in x, and the search gives it the least magnitude if that is best.
inline void take_signs(const float* x, const float* w, bool even, UnsignedBlock& block) {
  for (int eight = 0; eight < kSuperBlock / 8; ++eight) {
    const float* from = x + 8 * eight;
    float* to = block.x + 8 * eight;
    int n_minus = 0;
    int least = 0;
    float least_cost = INFINITY;
    for (int i = 0; i < 8; ++i) {
      to[i] = std::fabs(from[i]);
      if (from[i] < 0.0F) {
        block.minus[eight] = static_cast<uint8_t>(block.minus[eight] | (1 << i));
        ++n_minus;
      }
      // Near zero a wrong sign costs 4 · w · |x| · magnitude.
      const float cost = w[8 * eight + i] * to[i];
      if (cost < least_cost) {
        least_cost = cost;
        least = i;
      }
    }
    if (even && n_minus % 2 != 0) {
      to[least] = -to[least];
      block.minus[eight] = static_cast<uint8_t>(block.minus[eight] ^ (1 << least));
    }
  }
}

}  // namespace ruv
