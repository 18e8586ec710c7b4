// RegistryUsage: what the layers of a registry's model say of its use, beside its file.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hub/registry_store.h"

namespace ruv {

struct RegistryUsage {
  // Options (ruv/options.h) with their values, whose ranges are not checked here.
  std::vector<std::pair<std::string, double>> sampling = {};
  std::vector<std::string> stop = {};
  std::string system = {};
  // What of the layers has no effect here, and why: "template (the GGUF file has its own)". Names
  // in it come from the registry.
  std::vector<std::string> unused = {};
};

// Needs all layers here. Never fails: what cannot be read is unused.
RegistryUsage read_registry_usage(const RegistryStore& store, const RegistryManifest& manifest);

// The same of one layer's bytes, which are added to what others said: a later layer wins.
void add_registry_params(std::string_view text, RegistryUsage& usage);
void add_registry_system(std::string_view text, RegistryUsage& usage);

}  // namespace ruv
