#include "train/rate_schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/elementary.h"

namespace ruv {
namespace {

constexpr double kFirstOfCycle = 1.0 / 25;
constexpr double kLastOfCycle = kFirstOfCycle / 10000;

// From `begin` at p = 0 to `end` at p = 1 along half a cosine.
double half_cosine(double begin, double end, double p) {
  return end + (begin - end) * (1 + exact_sin_cos(std::numbers::pi * p).cos) / 2;
}

// Two halves of a cosine that meet at the peak.
double cycle_at(const RateSchedule& s, int64_t step) {
  const auto top = static_cast<double>(s.n_warmup - 1);
  const auto at = static_cast<double>(step);
  if (at <= top) return s.peak * half_cosine(kFirstOfCycle, 1, at / top);
  const double p = (at - top) / (static_cast<double>(s.n_steps - 1) - top);
  return s.peak * half_cosine(1, kLastOfCycle, std::min(1.0, p));
}

// The share of the peak in the steps in which a trapezoid falls, at most 1.
double trapezoid_share(const RateSchedule& s, int64_t step) {
  const double falling = s.fall * static_cast<double>(s.n_steps - s.n_warmup);
  const double left = static_cast<double>(std::max<int64_t>(s.n_steps - step, 0)) / falling;
  return s.last + (1 - s.last) * std::min(1.0, left);
}

}  // namespace

bool needs_length(RateShape shape) {
  return shape == RateShape::linear || shape == RateShape::cosine ||
         shape == RateShape::trapezoid || shape == RateShape::one_cycle;
}

// NaN fails each comparison that has to hold.
Status check(const RateSchedule& s) {
  const bool is_finite = std::isfinite(s.peak) && s.peak >= 0;
  if (!is_finite) return fail(Code::invalid, "learning rate: {} is not at least 0", s.peak);
  if (s.n_warmup < 0) return fail(Code::invalid, "learning rate: warm-up of {} steps", s.n_warmup);
  if (needs_length(s.shape) && s.n_steps <= s.n_warmup) {
    return fail(Code::invalid, "learning rate: {} steps, of which {} are warm-up", s.n_steps,
                s.n_warmup);
  }
  if (s.shape == RateShape::one_cycle && s.n_warmup < 2) {
    return fail(Code::invalid, "learning rate: one cycle rises in {} steps, and needs 2",
                s.n_warmup);
  }
  if (!(s.last >= 0 && s.last <= 1)) {
    return fail(Code::invalid, "learning rate: the last share, {}, is not in [0, 1]", s.last);
  }
  if (!(s.decay > 0 && s.decay <= 1)) {
    return fail(Code::invalid, "learning rate: the decay, {}, is not in (0, 1]", s.decay);
  }
  if (!(s.fall > 0 && s.fall <= 1)) {
    return fail(Code::invalid, "learning rate: it falls in {} of the steps, not in (0, 1]", s.fall);
  }
  if (s.every < 1) return fail(Code::invalid, "learning rate: decays every {} steps", s.every);
  return {};
}

// The warm-up comes before any shape but one_cycle, which has its own.
double rate_at(const RateSchedule& s, int64_t step) {
  if (s.shape == RateShape::one_cycle) return cycle_at(s, step);
  if (step < s.n_warmup) {
    return s.peak * static_cast<double>(step + 1) / static_cast<double>(s.n_warmup);
  }
  const auto after = static_cast<double>(step - s.n_warmup);
  const double p = std::min(1.0, after / static_cast<double>(s.n_steps - s.n_warmup));
  switch (s.shape) {
    case RateShape::linear:
      return s.peak * (1 - p * (1 - s.last));
    case RateShape::cosine:
      return s.peak * half_cosine(1, s.last, p);
    case RateShape::exponential:
      return s.peak * exact_pow(s.decay, after);
    case RateShape::steps:
      return s.peak * exact_pow(s.decay, std::floor(after / static_cast<double>(s.every)));
    case RateShape::trapezoid:
      return s.peak * trapezoid_share(s, step);
    case RateShape::constant:
    case RateShape::one_cycle:
      break;
  }
  return s.peak;
}

}  // namespace ruv
