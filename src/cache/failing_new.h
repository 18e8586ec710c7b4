// The next allocations of this thread, counted and made to fail: what a full memory does. Only in
// the test binary of this module; under a sanitizer nothing fails and nothing is counted.
#pragma once

#include <cstddef>

namespace ruv {

extern thread_local size_t n_allocations;
extern thread_local size_t failing_allocation;  // throws when n_allocations reaches it; 0: none
extern const bool allocations_can_fail;

}  // namespace ruv
