#include "model_defaults.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/json.h"
#include "ruv/options.h"

namespace ruv {

ModelDefaults defaults_of(const RegistryUsage& usage, std::vector<std::string>& unused) {
  ModelDefaults defaults;
  for (const auto& [option, value] : usage.sampling) {
    const Status status = check_defaults({.sampling = {{option, value}}});
    if (status.ok()) {
      defaults.sampling.emplace_back(option, value);
    } else {
      unused.push_back("params: " + status.message());
    }
  }
  if (const Status status = check_defaults({.stop = usage.stop}); status.ok()) {
    defaults.stop = usage.stop;
  } else {
    unused.push_back("params: " + status.message());
  }
  defaults.system = usage.system;
  return defaults;
}

std::string defaults_text(const ModelDefaults& defaults) {
  std::vector<std::string> parts;
  for (const auto& [option, value] : defaults.sampling)
    parts.push_back(fmt::format("{} {:g}", option, value));
  const size_t n_stop = defaults.stop.size();
  if (n_stop > 0) parts.push_back(fmt::format("{} stop text{}", n_stop, n_stop == 1 ? "" : "s"));
  if (!defaults.system.empty()) parts.emplace_back("a system message");
  return fmt::format("{}", fmt::join(parts, ", "));
}

Json defaults_json(const ModelDefaults& defaults) {
  Json sampling = Json::object();
  for (const auto& [option, value] : defaults.sampling) sampling[option] = value;
  return {{"sampling", std::move(sampling)}, {"stop", defaults.stop}, {"system", defaults.system}};
}

}  // namespace ruv
