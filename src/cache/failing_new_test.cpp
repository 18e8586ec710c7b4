// The failing operator new of the test binary. It stands alone in its file, and out of line, so
// that the compiler does not take the free() for a mistake.
#include "cache/failing_new.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
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

thread_local size_t n_allocations = 0;
thread_local size_t failing_allocation = 0;
const bool allocations_can_fail = RUV_ALLOCATIONS_CAN_FAIL != 0;

TEST(FailingNew, FailsWhenItIsTold) {
  if (!allocations_can_fail) GTEST_SKIP() << "not under a sanitizer";
  failing_allocation = n_allocations + 2;
  const auto block = std::make_unique<char[]>(10);
  EXPECT_THROW((void)std::make_unique<char[]>(10), std::bad_alloc);
  const auto another = std::make_unique<char[]>(10);
  failing_allocation = 0;
}

}  // namespace ruv

#if RUV_ALLOCATIONS_CAN_FAIL
[[gnu::noinline]] void* operator new(size_t n) {
  if (++ruv::n_allocations == ruv::failing_allocation) throw std::bad_alloc();
  if (void* p = std::malloc(n)) return p;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* p) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete(void* p, size_t) noexcept { std::free(p); }
#endif
