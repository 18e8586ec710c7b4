#include "base/entropy.h"

#include <sys/random.h>

#include "base/clock.h"

namespace ruv {

uint64_t draw_entropy() {
  uint64_t bits = 0;
  if (::getentropy(&bits, sizeof(bits)) == 0) return bits;
  // A kernel without random numbers: the clock and where the stack lies are hard to know.
  return static_cast<uint64_t>(SteadyClock().now_ns()) ^ reinterpret_cast<uintptr_t>(&bits) << 20;
}

}  // namespace ruv
