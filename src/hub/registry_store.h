// RegistryStore: the folders of Ollama's own models, which both programs read and write:
//
//   manifests/<host>/<namespace>/<name>/<tag>      as the registry gave it
//   manifests-v2/<host>/<namespace>/<name>/<tag>   the same of newer versions, which leads to a
//                                                  blob; read here, never written
//   blobs/sha256-<digest>                          layers
//   ruvllm-unfinished/                             ours, and locks: Ollama removes files of blobs
//                                                  that have other names
#pragma once

#include <string>

#include "hub/registry_manifest.h"
#include "hub/registry_reference.h"

namespace ruv {

struct StoredModel {
  RegistryManifest manifest;
  std::string path;      // of the GGUF file
  uint64_t n_bytes = 0;  // of all layers
  size_t n_layers = 0;
};

class RegistryStore {
 public:
  explicit RegistryStore(std::string folder) : folder_(std::move(folder)) {}
  const std::string& folder() const { return folder_; }

  std::string manifest_path(const RegistryReference& reference) const;
  // Whether a newer version of Ollama has the name.
  bool has_newer_manifest(const RegistryReference& reference) const;
  std::string blob_path(const FileDigest& digest) const;
  std::string staging_path(const FileDigest& digest) const;
  // Whether a layer is here in its full size.
  bool has(const RegistryLayer& layer) const;
  // The bytes of a layer that is here. Fails: unsupported (more than `most`), and as
  // read_text_file.
  Result<std::string> layer_text(const RegistryLayer& layer, uint64_t most) const;

  // What is here of a name. Fails: not_found (no manifest, or a layer is missing), corrupt,
  // unsupported (as check_layers).
  Result<StoredModel> find(const RegistryReference& reference) const;

 private:
  std::string newer_manifest_path(const RegistryReference& reference) const;
  Result<RegistryManifest> read_manifest(const std::string& path) const;
  std::string folder_;
};

}  // namespace ruv
