// How a user names a model of a registry of Ollama's kind: `ollama:[[host/]namespace/]name[:tag]`.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace ruv {

inline constexpr std::string_view kRegistryScheme = "ollama:";
inline constexpr std::string_view kRegistryHost = "registry.ollama.ai";

// Every part is safe as a part of a path and of a URL.
struct RegistryReference {
  std::string host = std::string(kRegistryHost);  // with its port
  std::string space = "library";
  std::string name = {};
  std::string tag = "latest";
  bool operator==(const RegistryReference&) const = default;
};
// With or without "ollama:" in front. Fails: invalid.
Result<RegistryReference> read_registry_reference(std::string_view text);
// "ollama:name:tag", with the parts before the name where they are not the usual ones.
std::string text_of(const RegistryReference& reference);
// "https://host"; http for this machine, since no network is crossed.
std::string endpoint_of(const RegistryReference& reference);

}  // namespace ruv
