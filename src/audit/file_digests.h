// Digests of the files of models and adapters: what an answer was computed with, by content.
#pragma once

#include <functional>

#include "audit/digest.h"
#include "base/file.h"
#include "base/worker_pool.h"

namespace ruv {

// The digest of what a path of a model or adapter names: a GGUF file, all parts of one, or a
// folder's weights, tokenizer and config. It does not depend on where they are. Blocks of 4 MiB are
// hashed by all threads of the pool. `progress` is called with the share that was read. Fails: as
// MappedFile::open.
Result<Digest> files_digest(const std::string& path, WorkerPool& pool,
                            const std::function<void(double)>& progress = {});

}  // namespace ruv
