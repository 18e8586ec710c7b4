#include "model/alibi.h"

#include <bit>

#include "base/elementary.h"

namespace ruv {

std::vector<float> alibi_slopes(int64_t n_heads, float max_bias) {
  const auto power = static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(n_heads)));
  const double step = double{max_bias} / static_cast<double>(power);
  std::vector<float> slopes;
  for (int64_t h = 0; h < n_heads; ++h) {
    const bool is_extra = h >= power;
    const auto steps = is_extra ? static_cast<double>(h - power) + 0.5 : static_cast<double>(h + 1);
    slopes.push_back(static_cast<float>(exact_pow(2, -steps * step)));
  }
  return slopes;
}

}  // namespace ruv
