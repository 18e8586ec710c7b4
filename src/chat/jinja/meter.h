// RenderMeter: the remaining budget of a rendering. Every evaluated node costs a step, and work on
// text costs a step per 64 bytes, so a hostile template stops early whatever it repeats. Raising
// max_steps lets longer templates finish and lets a hostile one take proportionally more time.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "base/result.h"

namespace ruv::jinja {

// Values nested deeper than this are refused; every recursion over a value relies on the limit.
inline constexpr int kMaxValueDepth = 200;
inline constexpr int kMaxMacroDepth = 200;
inline constexpr int kMaxParseDepth = 200;
// Nodes being evaluated at once, macros and recursive loops included; bounds the machine stack.
inline constexpr int kMaxEvaluationDepth = 1200;
inline constexpr int64_t kMaxRange = 1'000'000;

class RenderMeter {
 public:
  RenderMeter(int64_t max_steps, int64_t max_bytes)
      : max_steps_(max_steps), steps_left_(max_steps), max_bytes_(max_bytes) {}

  // Charges steps. Fails: invalid, when the budget is exhausted.
  Status spend(int64_t steps = 1) {
    steps_left_ -= steps;
    if (steps_left_ >= 0) [[likely]]
      return Status();
    steps_left_ = -1;
    return fail(Code::invalid, "the template needs more than {} steps (max_steps)", max_steps_);
  }
  // As spend, for callers that cannot return an error: an exhausted budget shows at the next spend.
  void charge(int64_t steps) { steps_left_ -= std::min(steps, steps_left_ + 1); }
  // Refuses a text above the output limit.
  Status check_size(size_t bytes) const {
    if (static_cast<uint64_t>(bytes) <= static_cast<uint64_t>(max_bytes_)) return Status();
    return fail(Code::invalid, "a text of {} bytes is above the limit of {} (max_output_bytes)",
                bytes, max_bytes_);
  }
  // Pays for making or walking a text of `bytes`, and refuses one above the output limit.
  Status spend_text(size_t bytes) {
    TRY(check_size(bytes));
    return spend(static_cast<int64_t>(bytes / 64));
  }
  // Pays for searching `pattern` bytes in `bytes`, which may compare every byte with every other.
  Status spend_search(size_t bytes, size_t pattern) {
    TRY(spend_text(bytes));
    const double compared = static_cast<double>(bytes) * static_cast<double>(pattern);
    return spend(static_cast<int64_t>(std::min(compared / 4096, 0x1p62)));
  }

 private:
  int64_t max_steps_;
  int64_t steps_left_;
  int64_t max_bytes_;
};

}  // namespace ruv::jinja
