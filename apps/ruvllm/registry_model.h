// Models of Ollama's registry and of others like it, in the folders that Ollama has for them.
#pragma once

#include "hub/registry_pull.h"
#include "remote_model.h"

namespace ruv {

// OLLAMA_MODELS, else ~/.ollama/models. Fails: invalid (no home).
Result<std::string> ollama_models_folder();
// Fetches what is missing; Ctrl-C stops it, and the next call continues. Fails: as
// pull_from_registry; not_found when offline and not here.
Result<FetchedModel> fetch_registry_model(const RegistryReference& reference,
                                          const RemoteCall& call);

}  // namespace ruv
