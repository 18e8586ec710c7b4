// How large a step of the optimiser is, by its number.
#pragma once

#include <cstdint>

#include "base/result.h"

namespace ruv {

enum class RateShape : uint8_t {
  constant,
  linear,
  cosine,
  exponential,
  steps,
  trapezoid,
  one_cycle
};

// With w = n_warmup, n = n_steps and p = (step - w) / (n - w), at most 1:
//
//   step < w      peak · (step + 1) / w
//   constant      peak
//   linear        peak · (1 - p · (1 - last))
//   cosine        peak · (last + (1 - last) · (1 + cos πp) / 2)
//   exponential   peak · decay^(step - w)
//   steps         peak · decay^⌊(step - w) / every⌋
//   trapezoid     peak; in the last f = fall · (n - w) steps
//                 peak · (last + (1 - last) · (n - step) / f)
//
// one_cycle rises to the peak, which is at step w - 1, from peak / 25 and falls from there to
// 1/10000 of that at step n - 1, both along half a cosine.
struct RateSchedule {
  RateShape shape = RateShape::constant;
  double peak = 1e-4;
  int64_t n_steps = 0;   // linear, cosine, trapezoid, one_cycle
  int64_t n_warmup = 0;  // one_cycle: at least 2
  double last = 0;       // share of the peak; linear, cosine, trapezoid
  double decay = 1;      // exponential, steps
  int64_t every = 1;     // steps
  double fall = 0.2;     // trapezoid
};

// Whether rates depend on n_steps.
bool needs_length(RateShape shape);
// Whether the numbers make sense for the shape. Fails: invalid.
Status check(const RateSchedule& schedule);
// Requires: check() is ok, step >= 0.
double rate_at(const RateSchedule& schedule, int64_t step);

}  // namespace ruv
