// What the name of a model means, wherever one is given: the order of precedence is here and
// nowhere else.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "hub/local_names.h"
#include "hub/model_reference.h"
#include "hub/registry_reference.h"
#include "ruv/model.h"

namespace ruv {

// A name that is no path means a model of a hub, of a registry, or one that `ruvllm tag` named.
struct MeantName {
  std::optional<HubReference> hub = {};
  std::optional<RegistryReference> registry = {};
  std::optional<LocalName> local = {};
};

// In this order:
//   hf:owner/repo[:file or quant][@revision];
//   ollama:[[host/]namespace/]name[:tag], a registry's;
//   NAME, NAME:TAG or NAME@VERSION of a name that `ruvllm tag` gave;
//   a short name of known_models.h, with :QUANT for another type.
// Fails: not_found, with the name that was probably meant; invalid (a prefix without a name),
// and as load_local_names.
Result<MeantName> meant_name(const std::string& name);

// The same for what takes no paths: also a bare owner/repo[:file or quant][@revision]. A version of
// a name that is a hub's model is that model. Fails: as meant_name; invalid (a file has the name).
Result<MeantName> meant_remote(const std::string& name);

struct MeantModel {
  std::string path = {};                 // of a file or folder
  std::vector<VersionFile> files = {};   // what it must hold, where a version of a name says so
  std::optional<HubReference> hub = {};  // else a hub's model
  std::optional<RegistryReference> registry = {};  // or one of a registry
  std::string served = {};                         // its name in requests; empty: its file's
};

// A path that exists, whatever its name looks like, else as meant_name. A name that is not known
// and looks like a path is one, whose absence is reported by what opens it.
Result<MeantModel> meant_model(const std::string& name);

struct ChosenModel {
  std::string path = {};
  ModelDefaults defaults = {};  // of a registry's model
};
// Where the model is, fetched first when it is not here; what of a registry's model has no effect
// is said on stderr. Fails: as fetch_remote and fetch_registry_model; corrupt (the files of a
// version were changed).
Result<ChosenModel> located(const MeantModel& model);

}  // namespace ruv
