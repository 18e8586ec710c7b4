// The counting operator new of the test binary. It stands alone in its file, and out of line, so
// that the compiler does not take the free() for a mistake.
#include "format/allocation_count.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <new>

// Sanitizers bring their own allocator, which must stay whole; there nothing is counted.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define RUV_COUNTS_ALLOCATIONS 0
#else
#define RUV_COUNTS_ALLOCATIONS 1
#endif

namespace ruv {

thread_local size_t allocated_bytes = 0;

TEST(AllocationCount, CountsWhatIsAskedFor) {
  if (!RUV_COUNTS_ALLOCATIONS) GTEST_SKIP() << "not counted under a sanitizer";
  const size_t before = allocated_bytes;
  const auto block = std::make_unique<char[]>(12345);
  EXPECT_GE(allocated_bytes - before, 12345U);
}

}  // namespace ruv

#if RUV_COUNTS_ALLOCATIONS
[[gnu::noinline]] void* operator new(size_t n) {
  ruv::allocated_bytes += n;
  if (void* p = std::malloc(n)) return p;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* p) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete(void* p, size_t) noexcept { std::free(p); }
#endif
