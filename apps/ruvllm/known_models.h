// Short names of well-known models: each is a hub's repository whose files the engine runs.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "hub/model_reference.h"

namespace ruv {

struct KnownModel {
  std::string_view name;
  std::string_view repo;
  std::string_view type;  // of quantisation, unless another is asked for
  std::string_view about;
};

// By name.
std::span<const KnownModel> known_models();
// "qwen3-4b", or "qwen3-4b:Q8_0" for another type; nothing: the name is not among them.
std::optional<HubReference> find_known(std::string_view name);

}  // namespace ruv
