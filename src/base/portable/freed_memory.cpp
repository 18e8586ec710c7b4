// Allocators about which nothing is known.
#include "base/freed_memory.h"

namespace ruv {

void bound_kept_memory() {}
void return_freed_memory() {}

}  // namespace ruv
