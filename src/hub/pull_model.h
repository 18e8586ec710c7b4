// pull_model: a model of a hub into the cache that is shared with huggingface_hub.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "hub/choose_files.h"
#include "hub/hub_cache.h"
#include "hub/hub_http.h"
#include "hub/model_reference.h"
#include "hub/transfer.h"

namespace ruv {

struct PulledModel {
  std::string path;    // what is opened: a file or a folder
  std::string commit;  // empty for a registry's
  uint64_t n_bytes = 0;
  uint64_t n_fetched = 0;  // that were not here before
  size_t n_files = 0;
};

struct PullOptions {
  int connections = 6;
  TransferWatch watch = {};
};

// One request names the commit, all files, their sizes and their digests. Fails: as
// read_repo_listing and the hub's answers.
Result<RepoListing> ask_listing(HubHttp& http, const HubReference& reference);

// Fetches what of the model is not here yet. Waits for another process that fetches the same file.
// Fails: as choose_files, fetch_file and the hub's answers; corrupt (a listing that is refused).
Result<PulledModel> pull_model(HubHttp& http, const HubCache& cache, const HubReference& reference,
                               const PullOptions& options);

// The same of what is here already, without a word to the hub. Fails: not_found.
Result<PulledModel> find_pulled(const HubCache& cache, const HubReference& reference);

}  // namespace ruv
