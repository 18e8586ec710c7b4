// SequenceTimes: when one request arrived, started and gave its first token, and what follows from
// that: its wait, its deadline and the times of its answer. Nanoseconds of the engine's clock.
#pragma once

#include <algorithm>
#include <cstdint>

#include "ruv/params.h"

namespace ruv {

class SequenceTimes {
 public:
  explicit SequenceTimes(int64_t submitted_ns) : submitted_ns_(submitted_ns) {}

  bool was_started() const { return started_ns_ != 0; }
  void start(int64_t now_ns) { started_ns_ = now_ns; }
  // Later calls change nothing.
  void first_token(int64_t now_ns) {
    if (first_token_ns_ == 0) first_token_ns_ = now_ns;
  }

  // Milliseconds from its arrival to its first token, or to now while it has none.
  int64_t waited_ms(int64_t now_ns) const {
    return ((first_token_ns_ != 0 ? first_token_ns_ : now_ns) - submitted_ns_) / 1'000'000;
  }
  // Milliseconds left of timeout_ms, 0 when they have passed; -1 where timeout_ms is 0: no limit.
  int64_t left_ms(int64_t now_ns, int64_t timeout_ms) const {
    if (timeout_ms == 0) return -1;
    return std::max<int64_t>(0, timeout_ms - (now_ns - submitted_ns_) / 1'000'000);
  }
  // Milliseconds since its first token. Requires: it has one.
  int64_t decode_ms(int64_t now_ns) const { return (now_ns - first_token_ns_) / 1'000'000; }
  // The times and rates of an answer that ends now. Requires: its token counts are filled.
  void fill(Timings& timings, int64_t now_ns) const;

 private:
  int64_t submitted_ns_;
  int64_t started_ns_ = 0;      // 0: it has not started
  int64_t first_token_ns_ = 0;  // 0: it has none
};

}  // namespace ruv
