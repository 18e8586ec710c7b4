// Which processor this is, for measurements that hold on one and not on another.
#pragma once

#include <cstdint>

namespace ruv {

// Equal on processors of one model: a hash of the name, family, model and stepping that the
// processor itself reports, 0 where it reports none.
uint64_t processor_id();

}  // namespace ruv
