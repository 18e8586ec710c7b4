// Eight: eight float32 that are computed together, in the vectors that every machine has (SSE2,
// NEON; elsewhere the compiler makes single operations of it). Each lane gives what the same
// operation of a float gives, so results are the same on every machine.
#pragma once

#include <cstring>

namespace ruv {

struct Eight {
  // 4 float32, by a language extension of GCC and clang.
  using Four = float __attribute__((vector_size(16)));
  Four low;
  Four high;
};

// Any address will do; compilers make two unaligned loads of it.
inline Eight load_eight(const float* from) {
  Eight to;
  std::memcpy(&to, from, sizeof to);
  return to;
}
inline void store_eight(float* to, Eight from) { std::memcpy(to, &from, sizeof from); }

// The same number in each lane.
inline Eight all_eight(float x) {
  const Eight::Four four = {x, x, x, x};
  return {four, four};
}

// Lane by lane, each rounded once: the compiler may not contract a product and a sum
// (-ffp-contract=off).
inline Eight operator+(Eight a, Eight b) { return {a.low + b.low, a.high + b.high}; }
inline Eight operator-(Eight a, Eight b) { return {a.low - b.low, a.high - b.high}; }
inline Eight operator*(Eight a, Eight b) { return {a.low * b.low, a.high * b.high}; }
inline Eight operator+(Eight a, float b) { return a + all_eight(b); }
inline Eight operator-(Eight a, float b) { return a - all_eight(b); }
inline Eight operator*(Eight a, float b) { return a * all_eight(b); }
inline Eight operator*(float a, Eight b) { return all_eight(a) * b; }

// The greater; as std::max, the first of equals.
inline Eight max_of(Eight a, float b) {
  const Eight other = all_eight(b);
  return {a.low < other.low ? other.low : a.low, a.high < other.high ? other.high : a.high};
}
// The lesser, likewise.
inline Eight min_of(Eight a, float b) {
  const Eight other = all_eight(b);
  return {other.low < a.low ? other.low : a.low, other.high < a.high ? other.high : a.high};
}
// `step` where x > border, else 0.
inline Eight step_above(Eight x, float border, float step) {
  const Eight::Four zero = {};
  const Eight to = all_eight(step);
  const Eight from = all_eight(border);
  return {x.low > from.low ? to.low : zero, x.high > from.high ? to.high : zero};
}

// A fixed order of additions: lanes four apart, then two apart, then the last two.
inline float sum_of(Eight x) {
  const Eight::Four pairs = x.low + x.high;
  return (pairs[0] + pairs[2]) + (pairs[1] + pairs[3]);
}

}  // namespace ruv
