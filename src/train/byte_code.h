// ByteCode: 256 numbers of at most 1, for numbers whose sizes differ by many powers of ten and need
// to be known to a few percent only, as what an optimiser remembers of gradients.
//
// Each power of ten from 1e-6 to 1 has a stretch of its own, [0.1, 1] of it, and each stretch twice
// as many numbers as the one below it: large numbers are kept more finely than small ones, and
// small ones do not become 0. (Dettmers, 8-bit approximations for parallelism, 2015; the tables are
// those of 8-bit optimisers, Dettmers et al., 2021.)
#pragma once

#include <array>
#include <cstdint>

namespace ruv {

class ByteCode {
 public:
  // 0, 1, and from 1 to 64 numbers of each sign in a stretch.
  static const ByteCode& with_sign();
  // 0, 1, and from 2 to 128 numbers in a stretch. A share above 0 is never 0: what divides by its
  // root would have no bound.
  static const ByteCode& without_sign();

  // Ascending with the byte.
  float value(uint8_t byte) const { return values_[byte]; }
  // The byte whose value is the nearest; between two, the greater. A share outside of the code's
  // range is its end. Requires: not NaN.
  uint8_t nearest(float share) const {
    size_t byte = 0;
    for (size_t step = 128; step > 0; step /= 2) {
      byte += limits_[byte + step - 1] <= share ? step : 0;
    }
    return static_cast<uint8_t>(byte);
  }

 private:
  explicit ByteCode(bool has_sign);

  std::array<float, 256> values_;
  std::array<float, 255> limits_;  // between a value and the next
};

}  // namespace ruv
