#include "model_name.h"

#include "base/file.h"
#include "remote_model.h"

namespace ruv {

Result<MeantModel> meant_model(const std::string& name) {
  if (file_exists(name) || is_directory(name)) return MeantModel{.path = name};
  if (name.starts_with("hf:")) {
    const HubReference hub = TRY(read_hub_reference(name));
    const std::string served = hub.want.empty() ? hub.repo : hub.repo + ":" + hub.want;
    return MeantModel{.hub = hub, .served = served};
  }
  if (name.starts_with("ollama:"))
    return fail(Code::unsupported, "'{}': models of Ollama's registry are not read here", name);
  return MeantModel{.path = name};
}

Result<std::string> path_of(const MeantModel& model) {
  if (!model.hub) return model.path;
  RemoteCall call;
  call.prefer_local = true;
  return TRY(fetch_remote(*model.hub, call)).path;
}

}  // namespace ruv
