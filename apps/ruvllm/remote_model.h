// Models by their names at a hub, as `pull` takes them.
#pragma once

#include <string>

#include "base/result.h"
#include "hub/pull_model.h"

namespace ruv {

struct RemoteCall {
  int64_t connections = 6;
  bool progress_lines = false;
};

// Fetches what is missing; Ctrl-C stops it, and the next call continues. Fails: as pull_model and
// open_hub; not_found when offline and not here.
Result<PulledModel> fetch_remote(const std::string& name, const RemoteCall& call);

}  // namespace ruv
