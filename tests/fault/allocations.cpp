// The counting and failing operator new. It stands alone in its file, and out of line, so that the
// compiler does not take the free() for a mistake.
#include "fault/allocations.h"

#include <malloc.h>

#include <atomic>
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
namespace {

std::atomic<int64_t> number = 0;
std::atomic<int64_t> n_bytes = 0;
std::atomic<int64_t> n_live = 0;
std::atomic<int64_t> n_peak = 0;
// Those with numbers [first, end) fail; end 0: none.
std::atomic<int64_t> first_failing = 0;
std::atomic<int64_t> end_failing = 0;

}  // namespace

const bool allocations_can_fail = RUV_ALLOCATIONS_CAN_FAIL != 0;

int64_t n_allocations() { return number; }
int64_t allocated_bytes() { return n_bytes; }
int64_t live_bytes() { return n_live; }
int64_t peak_bytes() { return n_peak; }
void restart_peak() { n_peak = n_live.load(); }

void fail_allocations(int64_t n, int64_t many) {
  first_failing = number + n;
  end_failing = number + n + many;
}

bool let_allocations_succeed() {
  const bool failed = end_failing > 0 && number >= first_failing;
  end_failing = 0;
  return failed;
}

#if RUV_ALLOCATIONS_CAN_FAIL
namespace {

void count_allocation(size_t n) {
  const int64_t mine = ++number;
  n_bytes += static_cast<int64_t>(n);
  if (mine < end_failing && mine >= first_failing) throw std::bad_alloc();
}

void count_live(int64_t n) {
  const int64_t now = n_live += n;
  int64_t peak = n_peak;
  while (now > peak && !n_peak.compare_exchange_weak(peak, now)) {
  }
}

void* allocate(size_t n) {
  count_allocation(n);
  void* p = std::malloc(n);
  if (p == nullptr) throw std::bad_alloc();
  count_live(static_cast<int64_t>(malloc_usable_size(p)));
  return p;
}

void release(void* p) {
  if (p != nullptr) count_live(-static_cast<int64_t>(malloc_usable_size(p)));
  std::free(p);
}

}  // namespace
#endif

}  // namespace ruv

#if RUV_ALLOCATIONS_CAN_FAIL
[[gnu::noinline]] void* operator new(size_t n) { return ruv::allocate(n); }
[[gnu::noinline]] void operator delete(void* p) noexcept { ruv::release(p); }
[[gnu::noinline]] void operator delete(void* p, size_t) noexcept { ruv::release(p); }
#endif
