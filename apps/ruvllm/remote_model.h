// Models of a hub: fetched, or found where an earlier call put them.
#pragma once

#include <string>

#include "base/result.h"
#include "hub/pull_model.h"

namespace ruv {

struct RemoteCall {
  int64_t connections = 6;
  bool progress_lines = false;  // where stderr is a pipe or file, too
  bool prefer_local = false;    // what is here is used without asking the hub
};

// Fetches what is missing; Ctrl-C stops it, and the next call continues. Fails: as pull_model and
// open_hub; not_found when offline and not here.
Result<PulledModel> fetch_remote(const HubReference& reference, const RemoteCall& call);

}  // namespace ruv
