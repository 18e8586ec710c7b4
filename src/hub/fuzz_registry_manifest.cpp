// Any bytes as a manifest of a registry, as a model's name there, and as a layer of its use:
// digests and names that are accepted make paths that stay below their folder.
#include <cstdlib>

#include "hub/registry_usage.h"

namespace {

void expect(bool condition) {
  if (!condition) std::abort();
}

void read_manifest(std::string_view text) {
  const auto manifest = ruv::read_registry_manifest(text, "fuzz");
  if (!manifest) return;
  expect(manifest->listed.has_value() || !manifest->config.digest.hex.empty());
  for (const ruv::RegistryLayer& layer : manifest->layers) {
    expect(layer.digest.hex.size() == 64);
    expect(layer.digest.hex.find_first_not_of("0123456789abcdef") == std::string::npos);
    expect(layer.n_bytes <= uint64_t{1} << 50);
  }
  if (ruv::check_layers(*manifest, "fuzz").ok())
    expect(manifest->find(ruv::LayerKind::model) != nullptr);
  const auto layers = ruv::all_layers(*manifest, "fuzz");
  if (layers) expect(layers->size() <= manifest->layers.size() + 1);
}

void read_name(std::string_view text) {
  const auto reference = ruv::read_registry_reference(text);
  if (!reference) return;
  expect(*ruv::read_registry_reference(ruv::text_of(*reference)) == *reference);
  const std::string path = ruv::RegistryStore("/m").manifest_path(*reference);
  expect(path.find("..") == std::string::npos && path.find("//") == std::string::npos);
  expect(path.find('\0') == std::string::npos);
}

void read_params(std::string_view text) {
  ruv::RegistryUsage usage;
  ruv::add_registry_params(text, usage);
  ruv::add_registry_system(text, usage);
  for (const std::string& stop : usage.stop) expect(!stop.empty());
  for (const std::string& unused : usage.unused) expect(unused.size() < 400);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(bytes), size);
  read_manifest(text);
  read_name(text);
  read_params(text);
  return 0;
}
