// pull_from_registry: a model of a registry into the folders that are shared with Ollama.
#pragma once

#include "hub/hub_http.h"
#include "hub/pull_model.h"
#include "hub/registry_usage.h"

namespace ruv {

struct RegistryModel {
  PulledModel pulled = {};
  RegistryUsage usage = {};
};

// Fetches what of the name is not here yet, each layer verified; the name is written when all are
// here. The http's endpoint is the registry. Fails: as pull_model, check_layers.
Result<RegistryModel> pull_from_registry(HubHttp& http, const RegistryStore& store,
                                         const RegistryReference& reference,
                                         const PullOptions& options);

// The same of what is here already, without a word to the registry. Fails: as RegistryStore::find.
Result<RegistryModel> find_in_registry_store(const RegistryStore& store,
                                             const RegistryReference& reference);

}  // namespace ruv
