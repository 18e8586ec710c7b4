#include "net/models/served_models.h"

#include <algorithm>

namespace ruv {

std::string_view phase_name(ModelPhase phase) {
  switch (phase) {
    case ModelPhase::unloaded:
      return "unloaded";
    case ModelPhase::loading:
      return "loading";
    case ModelPhase::loaded:
      return "loaded";
    case ModelPhase::unloading:
      return "unloading";
    case ModelPhase::failed:
      return "failed";
  }
  return "";
}

bool is_named(const std::vector<std::string>& names, std::string_view name) {
  constexpr std::string_view kTag = ":latest";
  const auto has = [&](std::string_view one) {
    return std::ranges::find(names, one) != names.end();
  };
  return has(name) || (name.ends_with(kTag) && has(name.substr(0, name.size() - kTag.size())));
}

std::string asked_in_query(const HttpRequest& request) {
  for (QueryParameter& parameter : query_parameters(request.query)) {
    if (parameter.name == "model") return std::move(parameter.value);
  }
  return {};
}

ApiError no_such_model(std::string_view name, const std::vector<ModelState>& models) {
  constexpr size_t kMostShown = 10;
  std::string there;
  for (size_t i = 0; i < std::min(models.size(), kMostShown); ++i) {
    there += fmt::format("{}'{}'", i == 0 ? "" : ", ", models[i].names.front());
  }
  if (models.size() > kMostShown) there += fmt::format(" and {} more", models.size() - kMostShown);
  return {404, "invalid_request_error",
          fmt::format("no model '{}' here; this server has {}", shortened(name, 100), there),
          "model", "model_not_found"};
}

}  // namespace ruv
