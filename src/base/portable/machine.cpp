#include "base/machine.h"

#include <cstddef>
#include <limits>

namespace ruv {

int available_cores() { return 1; }

// What addresses allow, as nothing says how much of it there is.
int64_t machine_memory_bytes() { return std::numeric_limits<ptrdiff_t>::max(); }

int64_t file_memory_bytes() { return machine_memory_bytes(); }

}  // namespace ruv
