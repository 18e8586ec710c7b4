// The functions a layer applies between its matrices, by name. kernels/kernels.h holds their
// formulas; a family's record chooses among them and a device computes them.
#pragma once

#include <cstddef>
#include <cstdint>

namespace ruv {

// rms: x · weight / rms(x). layer: mean taken off first, with an optional bias.
enum class Norm : uint8_t { rms, layer };
// gelu: x · Φ(x) with the normal distribution's Φ; gelu_tanh and quick_gelu approximate it.
// relu2: relu(x)². sigmoid, tanh: in attention and recurrent layers; no feed-forward has them.
enum class Act : uint8_t { silu, gelu_tanh, gelu, quick_gelu, relu, relu2, sigmoid, tanh };
inline constexpr size_t kActs = 8;

// xIELU (Huang, 2024), a function with numbers that each layer learns:
//   x > 0: positive · x² + slope · x     else: negative · (exp(min(x, last)) - 1 - x) + slope · x
struct Xielu {
  float positive = 0, negative = 0, slope = 0;
  float last = 0;  // a number just below 0
};

}  // namespace ruv
