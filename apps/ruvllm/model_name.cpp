#include "model_name.h"

#include <fmt/format.h>

#include "base/file.h"
#include "registry_model.h"
#include "terminal.h"

namespace ruv {
namespace {

// As Ollama's API names it.
std::string served_name(const RegistryReference& reference) {
  const RegistryReference usual;
  std::string name = reference.space == usual.space ? "" : reference.space + "/";
  name += reference.name;
  return reference.tag == usual.tag ? name : name + ":" + reference.tag;
}

}  // namespace

Result<MeantModel> meant_model(const std::string& name) {
  if (file_exists(name) || is_directory(name)) return MeantModel{.path = name};
  if (name.starts_with("hf:")) {
    const HubReference hub = TRY(read_hub_reference(name));
    const std::string served = hub.want.empty() ? hub.repo : hub.repo + ":" + hub.want;
    return MeantModel{.hub = hub, .served = served};
  }
  if (name.starts_with(kRegistryScheme)) {
    const RegistryReference registry = TRY(read_registry_reference(name));
    return MeantModel{.registry = registry, .served = served_name(registry)};
  }
  return MeantModel{.path = name};
}

Result<std::string> path_of(const MeantModel& model) {
  RemoteCall call;
  call.prefer_local = true;
  if (model.hub) return TRY(fetch_remote(*model.hub, call)).path;
  if (!model.registry) return model.path;
  const PulledModel pulled = TRY(fetch_registry_model(*model.registry, call));
  if (!pulled.unused.empty() && !is_quiet()) {
    fmt::print(stderr, "ruvllm: {}: not used: {}\n", text_of(*model.registry),
               fmt::join(pulled.unused, "; "));
  }
  return pulled.path;
}

}  // namespace ruv
