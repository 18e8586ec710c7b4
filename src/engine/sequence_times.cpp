#include "engine/sequence_times.h"

namespace ruv {
namespace {

double milliseconds(int64_t from_ns, int64_t to_ns) {
  return static_cast<double>(to_ns - from_ns) * 1e-6;
}

// 0 where no time passed.
double per_second(int64_t n, double ms) { return ms > 0 ? static_cast<double>(n) * 1000 / ms : 0; }

}  // namespace

// Where an answer ends before it started or before its first token, the missing times are the end.
void SequenceTimes::fill(Timings& t, int64_t now_ns) const {
  const int64_t started = started_ns_ != 0 ? started_ns_ : now_ns;
  const int64_t first = first_token_ns_ != 0 ? first_token_ns_ : now_ns;
  t.queue_ms = milliseconds(submitted_ns_, started);
  t.prefill_ms = milliseconds(started, first);
  t.decode_ms = milliseconds(first, now_ns);
  t.prefill_tokens_per_s = per_second(t.n_prompt_tokens - t.n_cached_tokens, t.prefill_ms);
  // The first token comes with the prefill.
  t.decode_tokens_per_s = per_second(t.n_generated_tokens - 1, t.decode_ms);
  if (t.n_generated_tokens < 2) t.decode_tokens_per_s = 0;
}

}  // namespace ruv
