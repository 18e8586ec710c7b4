// Slopes of ALiBi (Press et al., 2022).
#pragma once

#include <cstdint>
#include <vector>

namespace ruv {

// Of n heads, n >= 1. With n a power of two they fall geometrically, the last one to 2^-max_bias;
// other counts have those of the next smaller power, and then every other one of twice that power.
std::vector<float> alibi_slopes(int64_t n_heads, float max_bias);

}  // namespace ruv
