// The failing operator new. It stands alone in its file, and out of line, so that the compiler does
// not take the free() for a mistake.
#include "fault/failing_allocations.h"

#include <cstdlib>
#include <new>

// Sanitizers bring their own allocator, which must stay whole.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define RUV_ALLOCATIONS_CAN_FAIL 0
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define RUV_ALLOCATIONS_CAN_FAIL 0
#endif
#endif
#ifndef RUV_ALLOCATIONS_CAN_FAIL
#define RUV_ALLOCATIONS_CAN_FAIL 1
#endif

namespace ruv {

std::atomic<int64_t> n_allocations_seen = 0;
std::atomic<int64_t> first_failing = 0;
std::atomic<int64_t> end_failing = 0;
const bool process_allocations_can_fail = RUV_ALLOCATIONS_CAN_FAIL != 0;

}  // namespace ruv

#if RUV_ALLOCATIONS_CAN_FAIL
[[gnu::noinline]] void* operator new(size_t n) {
  const int64_t number = ++ruv::n_allocations_seen;
  if (number < ruv::end_failing && number >= ruv::first_failing) throw std::bad_alloc();
  if (void* p = std::malloc(n)) return p;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* p) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete(void* p, size_t) noexcept { std::free(p); }
#endif
