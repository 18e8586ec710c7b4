// Which keys a row of a step reads.
#pragma once

#include "device/ops.h"

namespace ruv {

// The positions that row `row` of the sequence sees: those up to its own, the newest `window` of
// them or those of its chunk, and its block; of a block with a window both ways, the part in reach.
// Rows after a source text see it or nothing of it. Both ends ascend with the row.
Range visible_keys(const Batch& batch, const BatchSequence& sequence, int64_t row,
                   const AttendParams& params);

}  // namespace ruv
