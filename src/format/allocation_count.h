// Bytes that operator new gave to this thread: what hostile files must not drive up. Only in the
// test binary of this module; 0 for ever under a sanitizer.
#pragma once

#include <cstddef>

namespace ruv {

extern thread_local size_t allocated_bytes;

}  // namespace ruv
