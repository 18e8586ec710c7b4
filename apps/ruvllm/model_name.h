// What the name of a model means, wherever one is given: the order of precedence is here and
// nowhere else.
#pragma once

#include <optional>
#include <string>

#include "base/result.h"
#include "hub/model_reference.h"
#include "hub/registry_reference.h"

namespace ruv {

struct MeantModel {
  std::string path = {};                           // of a file or folder
  std::optional<HubReference> hub = {};            // else a hub's model
  std::optional<RegistryReference> registry = {};  // or one of a registry
  std::string served = {};                         // its name in requests; empty: its file's
};

// In this order:
//   a path that exists, whatever its name looks like;
//   hf:owner/repo[:file or quant][@revision], a hub's model;
//   ollama:[[host/]namespace/]name[:tag], a registry's.
// Anything else is a path, which is then reported as absent by what opens it. Fails: invalid (a
// prefix without a name).
Result<MeantModel> meant_model(const std::string& name);

// Where the model is, fetched first when it is not here; layers of a registry's model that have no
// effect are said on stderr. Fails: as fetch_remote and fetch_registry_model.
Result<std::string> path_of(const MeantModel& model);

}  // namespace ruv
