#include "hub/registry_store.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/file.h"

namespace ruv {
namespace {

// Newer versions of Ollama name its own registry by another host.
constexpr std::string_view kNewerHost = "ollama.com";

std::string name_path(const RegistryReference& reference, std::string_view host) {
  return fmt::format("{}/{}/{}/{}", host, reference.space, reference.name, reference.tag);
}

Result<std::string> read_small_file(const std::string& path) {
  const FileStamp stamp = TRY(stamp_of(path));
  if (stamp.n_bytes > kMaxManifest)
    return fail(Code::corrupt, "{}: more than {} bytes", path, kMaxManifest);
  return read_text_file(path);
}

}  // namespace

std::string RegistryStore::manifest_path(const RegistryReference& reference) const {
  return fmt::format("{}/manifests/{}", folder_, name_path(reference, reference.host));
}
std::string RegistryStore::newer_manifest_path(const RegistryReference& reference) const {
  const bool is_usual = reference.host == kRegistryHost;
  return fmt::format("{}/manifests-v2/{}", folder_,
                     name_path(reference, is_usual ? kNewerHost : reference.host));
}
bool RegistryStore::has_newer_manifest(const RegistryReference& reference) const {
  return file_exists(newer_manifest_path(reference));
}
std::string RegistryStore::blob_path(const FileDigest& digest) const {
  return fmt::format("{}/blobs/sha256-{}", folder_, digest.hex);
}
std::string RegistryStore::staging_path(const FileDigest& digest) const {
  return fmt::format("{}/ruvllm-unfinished/sha256-{}", folder_, digest.hex);
}

bool RegistryStore::has(const RegistryLayer& layer) const {
  const std::string path = blob_path(layer.digest);
  if (!file_exists(path)) return false;
  const Result<FileStamp> stamp = stamp_of(path);
  return stamp && stamp->n_bytes == layer.n_bytes;
}

// The size is looked at here: a manifest may name a smaller one.
Result<std::string> RegistryStore::layer_text(const RegistryLayer& layer, uint64_t most) const {
  const std::string path = blob_path(layer.digest);
  const FileStamp stamp = TRY(stamp_of(path));
  if (stamp.n_bytes > most) return fail(Code::unsupported, "more than {} bytes", most);
  return read_text_file(path);
}

// A list leads to a manifest among the blobs.
Result<RegistryManifest> RegistryStore::read_manifest(const std::string& path) const {
  const std::string text = TRY(read_small_file(path));
  RegistryManifest manifest = TRY(read_registry_manifest(text, path));
  if (!manifest.listed) return manifest;
  const std::string blob = blob_path(*manifest.listed);
  const std::string listed = TRY(read_small_file(blob));
  manifest = TRY(read_registry_manifest(listed, blob));
  if (manifest.listed) return fail(Code::corrupt, "{}: a list within a list", blob);
  return manifest;
}

Result<StoredModel> RegistryStore::find(const RegistryReference& reference) const {
  std::string path = manifest_path(reference);
  if (!file_exists(path)) path = newer_manifest_path(reference);
  const std::string name = text_of(reference);
  if (!file_exists(path)) return fail(Code::not_found, "{} is not here", name);
  StoredModel model;
  model.manifest = TRY(read_manifest(path));
  TRY(check_layers(model.manifest, name));
  const std::vector<RegistryLayer> layers = TRY(all_layers(model.manifest, name));
  model.n_layers = layers.size();
  for (const RegistryLayer& layer : layers) {
    if (!has(layer)) {
      return fail(Code::not_found, "{} is not here: its {} is missing", name,
                  layer_name(layer.kind));
    }
    model.n_bytes += layer.n_bytes;
  }
  model.path = blob_path(model.manifest.find(LayerKind::model)->digest);
  return model;
}

}  // namespace ruv
