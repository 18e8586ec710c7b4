// A layer gets its name among the blobs after the disk has it, as Ollama does not verify it again.
#include "hub/registry_pull.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/append_file.h"
#include "base/file.h"
#include "base/folder.h"
#include "base/tree.h"
#include "hub/fetch_file.h"
#include "hub/registry_hold.h"
#include "hub/waiting_lock.h"

namespace ruv {
namespace {

constexpr std::string_view kManifestType = "application/vnd.docker.distribution.manifest.v2+json";

std::string folder_of(const std::string& path) { return path.substr(0, path.rfind('/')); }

// Some registries name the digest of a manifest.
Status check_manifest_digest(const HttpAnswerHead& head, const std::string& text,
                             const std::string& name) {
  std::string_view said = head.header("docker-content-digest");
  if (said.empty()) return {};
  DigestStream stream = TRY(DigestStream::start(DigestKind::sha256, text.size()));
  stream.add(as_bytes(text));
  if (said == "sha256:" + stream.finish()) return {};
  return fail(Code::corrupt, "{}: the manifest does not have the digest that its answer names",
              name);
}

// The pull of one name.
class RegistryPull {
 public:
  RegistryPull(HubHttp& http, const RegistryStore& store, const RegistryReference& reference,
               const PullOptions& options)
      : http_(http), store_(store), reference_(reference), options_(options) {}

  Result<RegistryModel> run() {
    const std::string text = TRY(ask_manifest());
    const std::string source = "the manifest of " + name_;
    const RegistryManifest manifest = TRY(read_registry_manifest(text, source));
    if (manifest.listed)
      return fail(Code::unsupported, "{}: a list of manifests, which was not asked for", source);
    TRY(check_layers(manifest, name_));
    const std::vector<RegistryLayer> layers = TRY(all_layers(manifest, source));
    for (const RegistryLayer& layer : layers) model_.n_bytes += layer.n_bytes;
    model_.n_files = layers.size();
    const RegistryLayer& model = *manifest.find(LayerKind::model);
    TRY(make_folder(store_.folder() + "/blobs"));
    const FileLock hold =
        TRY(hold_for_pull(store_, model.digest, [&] { return show(model, 0, true); }));
    TRY(make_folder(folder_of(store_.staging_path(model.digest))));
    TRY(check_room(layers));
    for (const RegistryLayer& layer : layers) TRY(pull_layer(layer));
    TRY(sync_folder(store_.folder() + "/blobs"));
    TRY(write_name(text));
    model_.path = store_.blob_path(model.digest);
    return RegistryModel{model_, read_registry_usage(store_, manifest)};
  }

 private:
  std::string url(const std::string& what) const {
    return fmt::format("{}/v2/{}/{}/{}", http_.options().endpoint, reference_.space,
                       reference_.name, what);
  }

  Result<std::string> ask_manifest() {
    HttpExchange exchange;
    exchange.method = "GET";
    exchange.url = url("manifests/" + reference_.tag);
    exchange.headers.push_back(fmt::format("Accept: {}", kManifestType));
    HttpAnswerHead head;
    Result<std::string> text = http_.text(exchange, kMaxManifest, name_, &head);
    if (!text && (head.status == 401 || head.status == 403)) {
      return fail(Code::unsupported,
                  "{}: the registry answers {}; models that need a key are not fetched here", name_,
                  head.status);
    }
    if (text) TRY(check_manifest_digest(head, *text, name_));
    return text;
  }

  // Before anything is fetched, for all layers together.
  Status check_room(const std::vector<RegistryLayer>& layers) const {
    uint64_t n_missing = 0;
    for (const RegistryLayer& layer : layers) {
      const std::string begun = unfinished_path(store_.staging_path(layer.digest));
      if (!store_.has(layer) && !file_exists(begun)) n_missing += layer.n_bytes;
    }
    const DiskRoom room = TRY(disk_room(store_.folder()));
    if (n_missing <= static_cast<uint64_t>(std::max<int64_t>(room.n_free, 0))) return {};
    return fail(Code::out_of_memory, "{}: {:.1f} GB are missing, but {} has room for {:.1f} GB",
                name_, static_cast<double>(n_missing) / 1e9, store_.folder(),
                static_cast<double>(room.n_free) / 1e9);
  }

  bool show(const RegistryLayer& layer, uint64_t n_here, bool is_waiting) const {
    if (http_.cancellation().is_cancelled()) return false;
    const std::string name = fmt::format("{} ({})", name_, layer_name(layer.kind));
    return !options_.watch || options_.watch({name, n_done_ + n_here, model_.n_bytes, is_waiting});
  }

  Status pull_layer(const RegistryLayer& layer) {
    if (!store_.has(layer)) {
      const std::string place = store_.staging_path(layer.digest);
      const FileLock lock =
          TRY(wait_for_lock(place + ".lock", [&] { return show(layer, 0, true); }));
      // The process that had the lock may have fetched it.
      if (!store_.has(layer)) {
        TRY(fetch(layer, place));
        TRY(check_after_power_loss(place, layer.digest));
        TRY(rename_file(place, store_.blob_path(layer.digest)));
        model_.n_fetched += layer.n_bytes;
      }
    }
    n_done_ += layer.n_bytes;
    return {};
  }

  // What an earlier process has fetched but not renamed is taken.
  Status fetch(const RegistryLayer& layer, const std::string& place) {
    if (file_exists(place) && check_after_power_loss(place, layer.digest).ok()) return {};
    FetchCall call;
    call.url = url("blobs/sha256:" + layer.digest.hex);
    call.name = fmt::format("{} ({})", name_, layer_name(layer.kind));
    call.path = place;
    call.n_bytes = layer.n_bytes;
    call.digest = layer.digest;
    call.connections = options_.connections;
    call.watch = [&](uint64_t n_here) { return show(layer, n_here, false); };
    return fetch_file(http_, call);
  }

  Status write_name(const std::string& text) const {
    const std::string path = store_.manifest_path(reference_);
    TRY(make_folder(folder_of(path)));
    FileWriter writer = TRY(FileWriter::create(path, {.replace = true}));
    TRY(writer.write(as_bytes(text)));
    return writer.commit();
  }

  HubHttp& http_;
  const RegistryStore& store_;
  const RegistryReference& reference_;
  const PullOptions& options_;
  const std::string name_ = text_of(reference_);
  PulledModel model_;
  uint64_t n_done_ = 0;
};

}  // namespace

Result<RegistryModel> pull_from_registry(HubHttp& http, const RegistryStore& store,
                                         const RegistryReference& reference,
                                         const PullOptions& options) {
  return RegistryPull(http, store, reference, options).run();
}

Result<RegistryModel> find_in_registry_store(const RegistryStore& store,
                                             const RegistryReference& reference) {
  const StoredModel found = TRY(store.find(reference));
  RegistryModel model;
  model.pulled.path = found.path;
  model.pulled.n_bytes = found.n_bytes;
  model.pulled.n_files = found.n_layers;
  model.usage = read_registry_usage(store, found.manifest);
  return model;
}

}  // namespace ruv
