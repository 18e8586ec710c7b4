// The counting operator new of the test binary. It stands alone in its file, so that the compiler
// does not see through it and take free() for a mistake.
#include "format/allocation_count.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <new>

namespace ruv {

thread_local size_t allocated_bytes = 0;

TEST(AllocationCount, CountsWhatIsAskedFor) {
  const size_t before = allocated_bytes;
  const auto block = std::make_unique<char[]>(12345);
  EXPECT_GE(allocated_bytes - before, 12345U);
}

}  // namespace ruv

void* operator new(size_t n) {
  ruv::allocated_bytes += n;
  if (void* p = std::malloc(n)) return p;
  throw std::bad_alloc();
}
void operator delete(void* p) noexcept { std::free(p); }
void operator delete(void* p, size_t) noexcept { std::free(p); }
