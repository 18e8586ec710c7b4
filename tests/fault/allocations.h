// Allocations of the whole test program, counted and made to fail: what a full memory does, and
// what hostile files must not drive up. Under a sanitizer nothing fails and nothing is counted.
#pragma once

#include <cstdint>

namespace ruv {

extern const bool allocations_can_fail;

// By operator new, in all threads, since the program began.
int64_t n_allocations();
int64_t allocated_bytes();
// Not freed again: now, and at most since restart_peak().
int64_t live_bytes();
int64_t peak_bytes();
void restart_peak();

// The n-th allocation from now on throws std::bad_alloc, and `many` in all from there.
void fail_allocations(int64_t n, int64_t many = 1);
// Ends that. Returns whether any failed.
bool let_allocations_succeed();

}  // namespace ruv
