// Copies rows of a GGUF file's tensors into a folder's, a few megabytes at a time.
#pragma once

#include <functional>

#include "base/worker_pool.h"
#include "convert/row_sources.h"

namespace ruv {

// Takes the next bytes of the tensor. Fails: as writing files does.
using WriteBytes = std::function<Status(Bytes)>;

// All bytes of one tensor, in order. Numbers of the same type are copied, others decoded. Fails:
// corrupt, invalid (a number that the type has not), unsupported (one that is not what its source
// was once 1 is added again), naming the tensor of `source`, and as `write`.
Status copy_tensor(const ModelFile& source, const StoredRows& tensor, WorkerPool& workers,
                   const WriteBytes& write);

}  // namespace ruv
