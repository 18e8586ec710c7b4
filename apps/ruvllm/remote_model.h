// Models of a hub: fetched, or found where an earlier call put them.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "hub/pull_model.h"
#include "ruv/model.h"

namespace ruv {

struct FetchedModel {
  PulledModel pulled = {};
  // What the layers of a registry's model say of its use, and what of them has no effect.
  ModelDefaults defaults = {};
  std::vector<std::string> unused = {};
};

struct RemoteCall {
  int64_t connections = 6;
  bool progress_lines = false;  // where stderr is a pipe or file, too
  bool prefer_local = false;    // what is here is used without asking the hub
};

// Fetches what is missing; Ctrl-C stops it, and the next call continues. Fails: as pull_model and
// open_hub; not_found when offline and not here.
Result<PulledModel> fetch_remote(const HubReference& reference, const RemoteCall& call);

}  // namespace ruv
