// Where files are not mapped, or a mapped file cannot become shorter (Windows), nothing is guarded.
#include "base/mapped_ranges.h"

namespace ruv {

void guard_mapped_files() {}

}  // namespace ruv
