// RegistryManifest: what a registry of Ollama's kind says that a name consists of.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hub/digest.h"

namespace ruv {

enum class LayerKind : uint8_t {
  model,      // a GGUF file
  adapter,    // changes the model's weights
  projector,  // for pictures
  chat_template,
  system,
  params,    // how answers are sampled, as JSON
  messages,  // that conversations begin with
  tensor,    // one of a model that is not in one file
  other,     // licences and what else does not change answers
};

struct RegistryLayer {
  LayerKind kind = LayerKind::other;
  FileDigest digest = {};
  uint64_t n_bytes = 0;
};

// Either layers, or the digest of a manifest with layers that a list names.
struct RegistryManifest {
  RegistryLayer config = {};
  std::vector<RegistryLayer> layers = {};
  std::optional<FileDigest> listed = {};

  // The first of its kind; null: there is none.
  const RegistryLayer* find(LayerKind kind) const;
};

inline constexpr size_t kMaxManifest = 1 << 20;

// A manifest of version 2 of the registry's protocol, or a list of them, of which the one for GGUF
// files is taken. Every layer has a SHA-256 and a size. Fails: corrupt; unsupported (a list
// without one for GGUF files).
Result<RegistryManifest> read_registry_manifest(std::string_view text, std::string_view source);
// Whether the layers are a model that can be run. Fails: unsupported (no GGUF file or several of
// them, an adapter).
Status check_layers(const RegistryManifest& manifest, std::string_view source);
// All layers, with the config, each digest once. Fails: corrupt (two sizes for one digest).
Result<std::vector<RegistryLayer>> all_layers(const RegistryManifest& manifest,
                                              std::string_view source);
// For messages: "model".
std::string_view layer_name(LayerKind kind);

}  // namespace ruv
