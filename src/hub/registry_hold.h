// Locks of a store of Ollama's layout: pulls of this program exclude its removals, and the other
// way round. Ollama takes no locks; whether it fetches something is seen from its unfinished files.
#pragma once

#include <functional>

#include "base/append_file.h"
#include "hub/registry_store.h"

namespace ruv {

// While it lives nothing of the store is removed by this program. Waits for a removal, and for
// another pull of the same GGUF file; `goes_on` as in wait_for_lock, whose failures it has.
Result<FileLock> hold_for_pull(const RegistryStore& store, const FileDigest& model,
                               const std::function<bool()>& goes_on);
// While it lives no pull of this program begins. Fails: unavailable (a pull is under way, of this
// program or of Ollama), cancelled (as wait_for_lock), and as making a folder.
Result<FileLock> hold_for_removal(const RegistryStore& store, const std::function<bool()>& goes_on);

// What was changed later than this may be in use by an Ollama that fetches or makes a model: it
// names a model last.
int64_t settled_before_ns();

}  // namespace ruv
