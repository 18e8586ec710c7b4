// Removing models from a store of Ollama's layout as `ollama rm` does it: first the name, then the
// layers that no other name leads to. Ended anywhere it leaves layers that nothing leads to, which
// unreferenced_layers finds, and no name without its layers.
//
// What is kept is found with less trust than what is removed: every digest anywhere in the text of
// another manifest counts, and a manifest that cannot be read keeps everything.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/folder.h"
#include "hub/registry_store.h"

namespace ruv {

// What is removed, so that it can be shown first.
struct RegistryRemoval {
  std::string manifest = {};             // its path
  std::vector<std::string> layers = {};  // paths of those that no other name leads to
  size_t n_shared = 0;                   // layers that stay
  int64_t n_bytes = 0;                   // that become free
};

// Fails: not_found; unsupported (a name that only newer versions of Ollama have, and what is no
// plain manifest); corrupt or invalid (another manifest cannot be read).
Result<RegistryRemoval> plan_registry_removal(const RegistryStore& store,
                                              const RegistryReference& reference);
// Plans anew under the store's lock, and returns what it removed. `goes_on` is asked before every
// file. Fails: as plan_registry_removal; unavailable (something is being fetched, and nothing was
// removed); cancelled (`goes_on` returned false).
Result<RegistryRemoval> remove_registry_model(const RegistryStore& store,
                                              const RegistryReference& reference,
                                              const std::function<bool()>& goes_on);

// Layers that no manifest leads to. Those that were changed within the last hour are left out: an
// Ollama may be about to name them. Fails: corrupt, invalid (a manifest cannot be read).
Result<std::vector<FolderEntry>> unreferenced_layers(const RegistryStore& store);

}  // namespace ruv
