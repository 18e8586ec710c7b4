// The functions a layer applies between its matrices, by name. kernels/kernels.h holds their
// formulas; a family's record chooses among them and a device computes them.
#pragma once

#include <cstdint>

namespace ruv {

// rms: x · weight / rms(x). layer: mean taken off first, with an optional bias.
enum class Norm : uint8_t { rms, layer };
enum class Act : uint8_t { silu, gelu_tanh };

}  // namespace ruv
