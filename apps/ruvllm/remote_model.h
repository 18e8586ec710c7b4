// Models by their names at a hub or a registry: what `pull` and --model take.
#pragma once

#include <string>

#include "base/result.h"
#include "hub/pull_model.h"

namespace ruv {

struct RemoteCall {
  int64_t connections = 6;
  bool progress_lines = false;
  // What is here already is used without asking whether there is something newer.
  bool prefer_local = false;
};

// Whether a value of --model names a model elsewhere: "hf:…" or "ollama:…".
bool is_remote_name(const std::string& name);
// Fetches what is missing; Ctrl-C stops it, and the next call continues. Fails: as pull_model and
// open_hub; not_found when offline and not here.
Result<PulledModel> fetch_remote(const std::string& name, const RemoteCall& call);

}  // namespace ruv
