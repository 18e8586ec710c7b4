// Fields that are not named here have no effect on what is fetched.
#include "hub/registry_manifest.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/json.h"
#include "base/json_fields.h"

namespace ruv {
namespace {

constexpr size_t kMaxLayers = 64;
constexpr JsonLimits kManifestLimits{.depth = 16, .values = 100'000};

struct LayerType {
  std::string_view media_type;  // after "application/vnd.ollama.image."
  LayerKind kind;
  std::string_view name;
};
constexpr LayerType kLayerTypes[] = {
    {"model", LayerKind::model, "model"},
    {"adapter", LayerKind::adapter, "adapter"},
    {"projector", LayerKind::projector, "projector"},
    {"template", LayerKind::chat_template, "template"},
    {"prompt", LayerKind::chat_template, "template"},
    {"system", LayerKind::system, "system message"},
    {"params", LayerKind::params, "params"},
    {"messages", LayerKind::messages, "messages"},
    {"tensor", LayerKind::tensor, "tensor"},
};

LayerKind kind_of(std::string_view media_type) {
  constexpr std::string_view kImage = "application/vnd.ollama.image.";
  if (!media_type.starts_with(kImage)) return LayerKind::other;
  media_type.remove_prefix(kImage.size());
  const auto found = std::ranges::find(kLayerTypes, media_type, &LayerType::media_type);
  return found == std::end(kLayerTypes) ? LayerKind::other : found->kind;
}

// Empty: the member is absent or no text.
std::string_view text_member(const Json& object, std::string_view name) {
  const Json* const found = object.find(name);
  return found != nullptr && found->is_string() ? found->text() : std::string_view();
}

Result<FileDigest> read_layer_digest(const Json& object) {
  std::string_view text = text_member(object, "digest");
  constexpr std::string_view kAlgorithm = "sha256:";
  if (!text.starts_with(kAlgorithm)) return fail(Code::corrupt, "a 'digest' is not sha256:...");
  text.remove_prefix(kAlgorithm.size());
  const FileDigest digest = TRY(read_digest(text));
  if (digest.kind == DigestKind::sha256) return digest;
  return fail(Code::corrupt, "a 'digest' does not have 64 digits");
}

Result<RegistryLayer> read_layer(const Json* json) {
  if (json == nullptr || !json->is_object()) return fail(Code::corrupt, "a layer is not an object");
  RegistryLayer layer;
  layer.digest = TRY(read_layer_digest(*json));
  constexpr IntegerRange kSizes{0, int64_t{1} << 50};
  const FieldResult<int64_t> size = read_integer(*json, "size", -1, kSizes);
  if (!size) return fail(Code::corrupt, "a layer: {}", size.error().message);
  if (*size < 0) return fail(Code::corrupt, "a layer has no 'size'");
  layer.n_bytes = static_cast<uint64_t>(*size);
  layer.kind = kind_of(text_member(*json, "mediaType"));
  return layer;
}

Result<RegistryManifest> read_layers(const Json& json) {
  const Json* const layers = json.find("layers");
  if (layers == nullptr || !layers->is_array() || layers->size() > kMaxLayers)
    return fail(Code::corrupt, "'layers' is not an array of at most {}", kMaxLayers);
  RegistryManifest manifest;
  manifest.config = TRY(read_layer(json.find("config")));
  for (const Json& layer : *layers) manifest.layers.push_back(TRY(read_layer(&layer)));
  return manifest;
}

// Runners whose models are GGUF files, as lists name them.
bool reads_gguf(std::string_view runner) { return runner == "ollama" || runner == "llamacpp"; }

// A list has manifests in it, or their digests.
Result<RegistryManifest> read_list(const Json& list) {
  if (!list.is_array() || list.size() > kMaxLayers)
    return fail(Code::corrupt, "'manifests' is not an array of at most {}", kMaxLayers);
  for (const Json& entry : list) {
    if (!entry.is_object()) return fail(Code::corrupt, "a manifest of the list is not an object");
    if (!reads_gguf(text_member(entry, "runner"))) continue;
    if (entry.contains("layers")) return read_layers(entry);
    RegistryManifest manifest;
    manifest.listed = TRY(read_layer_digest(entry));
    return manifest;
  }
  return fail(Code::unsupported, "a list of manifests of which none is for GGUF files");
}

Result<RegistryManifest> manifest_of(const Json& json) {
  if (!json.is_object()) return fail(Code::corrupt, "not an object");
  const Json* const list = json.find("manifests");
  if (list != nullptr) return read_list(*list);
  return read_layers(json);
}

}  // namespace

const RegistryLayer* RegistryManifest::find(LayerKind kind) const {
  const auto found = std::ranges::find(layers, kind, &RegistryLayer::kind);
  return found == layers.end() ? nullptr : &*found;
}

std::string_view layer_name(LayerKind kind) {
  const auto found = std::ranges::find(kLayerTypes, kind, &LayerType::kind);
  return found == std::end(kLayerTypes) ? "layer" : found->name;
}

Result<RegistryManifest> read_registry_manifest(std::string_view text, std::string_view source) {
  if (text.size() > kMaxManifest)
    return fail(Code::corrupt, "{}: more than {} bytes", source, kMaxManifest);
  const Json json = TRY(parse_json(text, source, kManifestLimits));
  Result<RegistryManifest> manifest = manifest_of(json);
  if (!manifest) return tl::unexpected(with_context(source, manifest.error()));
  return manifest;
}

Status check_layers(const RegistryManifest& manifest, std::string_view source) {
  if (manifest.find(LayerKind::adapter) != nullptr) {
    return fail(Code::unsupported,
                "{}: it has an adapter, without which its model means something else, and which "
                "is not read here",
                source);
  }
  const auto n_models = std::ranges::count(manifest.layers, LayerKind::model, &RegistryLayer::kind);
  if (n_models == 1) return {};
  const bool has_tensors = manifest.find(LayerKind::tensor) != nullptr;
  return fail(Code::unsupported, "{}: it has {} GGUF files where one is needed{}", source, n_models,
              has_tensors ? "; its tensors are layers of their own" : "");
}

Result<std::vector<RegistryLayer>> all_layers(const RegistryManifest& manifest,
                                              std::string_view source) {
  std::vector<RegistryLayer> all{manifest.config};
  for (const RegistryLayer& layer : manifest.layers) {
    const auto same = std::ranges::find(all, layer.digest, &RegistryLayer::digest);
    if (same == all.end()) {
      all.push_back(layer);
    } else if (same->n_bytes != layer.n_bytes) {
      return fail(Code::corrupt, "{}: a digest has two sizes", source);
    }
  }
  return all;
}

}  // namespace ruv
