// ModelDefaults of a registry's model, and such defaults in words.
#pragma once

#include <string>
#include <vector>

#include "base/json_fwd.h"
#include "hub/registry_usage.h"
#include "ruv/model.h"

namespace ruv {

// What of it a request could ask for. The rest is added to `unused`, with the reason.
ModelDefaults defaults_of(const RegistryUsage& usage, std::vector<std::string>& unused);

// "temperature 0.6, 2 stop texts, a system message"; empty: there is nothing.
std::string defaults_text(const ModelDefaults& defaults);
// {"sampling": {…}, "stop": […], "system": "…"}
Json defaults_json(const ModelDefaults& defaults);

}  // namespace ruv
