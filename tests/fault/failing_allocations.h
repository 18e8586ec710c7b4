// Allocations of the whole process, counted and made to fail: what a full memory does. Under a
// sanitizer nothing fails and nothing is counted.
#pragma once

#include <atomic>
#include <cstdint>

namespace ruv {

extern std::atomic<int64_t> n_allocations_seen;
// Those with numbers [first, end) throw std::bad_alloc; end 0: none.
extern std::atomic<int64_t> first_failing;
extern std::atomic<int64_t> end_failing;
extern const bool process_allocations_can_fail;

// The n-th allocation from now on fails, and `many` in all from there.
inline void fail_allocations(int64_t n, int64_t many) {
  first_failing = n_allocations_seen + n;
  end_failing = n_allocations_seen + n + many;
}
inline void let_allocations_succeed() { end_failing = 0; }

}  // namespace ruv
