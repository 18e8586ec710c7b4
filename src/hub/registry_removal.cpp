#include "hub/registry_removal.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/file.h"
#include "base/json.h"
#include "base/tree.h"
#include "hub/registry_hold.h"

namespace ruv {
namespace {

constexpr std::string_view kBlobPrefix = "sha256-";
constexpr size_t kDigits = 64;

using Digests = std::set<std::string>;

bool is_digit(char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); }

// Every run of exactly 64 digits, whatever is around it.
void add_digests(std::string_view text, Digests& digests) {
  size_t begin = 0;
  for (size_t at = 0; at <= text.size(); ++at) {
    if (at < text.size() && is_digit(text[at])) continue;
    if (at - begin == kDigits) digests.emplace(text.substr(begin, kDigits));
    begin = at + 1;
  }
}

// The text of a manifest, which is a JSON object.
Result<std::string> manifest_text(const std::string& path) {
  const FileStamp stamp = TRY(stamp_of(path));
  if (stamp.n_bytes > kMaxManifest)
    return fail(Code::corrupt, "{}: more than {} bytes", path, kMaxManifest);
  std::string text = TRY(read_text_file(path));
  const Json json = TRY(parse_json(text, path, {.depth = 32, .values = 200'000}));
  if (!json.is_object()) return fail(Code::corrupt, "{}: no JSON object", path);
  return text;
}

// The digests that a blob names where it is a manifest, as those that a list names are. Other small
// layers may be looked at too, which only keeps more.
void add_digests_of_blob(const RegistryStore& store, const std::string& digest, Digests& found) {
  const std::string path = store.blob_path({DigestKind::sha256, digest});
  const Result<FileStamp> stamp = stamp_of(path);
  if (!stamp || stamp->n_bytes > kMaxManifest) return;
  if (const Result<std::string> text = manifest_text(path)) add_digests(*text, found);
}

// Names that begin with '.' are of no model: file managers leave such files.
bool is_hidden(const std::string& path) { return file_name_of(path).starts_with('.'); }

// All digests that any manifest but `without` leads to.
Result<Digests> referenced(const RegistryStore& store, const std::string& without) {
  Digests digests;
  for (const char* const part : {"manifests", "manifests-v2"}) {
    const std::string folder = store.folder() + "/" + part;
    for (const TreeEntry& entry : TRY(all_files_below(folder))) {
      const std::string path = folder + "/" + entry.path;
      if (path == without || is_hidden(path)) continue;
      if (entry.is_link && is_directory(path))
        return fail(Code::invalid, "{}: a link to a folder, in which names may be", path);
      const Result<std::string> text = manifest_text(path);
      if (!text)
        return tl::unexpected(with_context("what a manifest needs is not known", text.error()));
      add_digests(*text, digests);
    }
  }
  Digests looked_at;
  std::vector<std::string> left(digests.begin(), digests.end());
  while (!left.empty()) {
    const std::string digest = std::move(left.back());
    left.pop_back();
    if (!looked_at.insert(digest).second) continue;
    Digests more;
    add_digests_of_blob(store, digest, more);
    for (const std::string& one : more) {
      if (digests.insert(one).second) left.push_back(one);
    }
  }
  return digests;
}

// A name that newer versions of Ollama have leads to a list of manifests, of which we know only a
// part.
Status check_is_plain(const RegistryStore& store, const RegistryReference& reference) {
  const std::string name = text_of(reference);
  if (store.has_newer_manifest(reference)) {
    return fail(Code::unsupported,
                "{}: a newer version of Ollama keeps it in manifests-v2; `ollama rm` removes it",
                name);
  }
  if (file_exists(store.manifest_path(reference))) return {};
  return fail(Code::not_found, "{} is not here", name);
}

Status removed_or(const std::string& path) {
  if (remove_file(path)) return {};
  return fail(Code::internal, "{}: cannot be removed", path);
}

// The folders of a name that have nothing else in them.
void remove_empty_folders(const RegistryStore& store, const std::string& manifest) {
  const std::string top = store.folder() + "/manifests";
  std::string folder = manifest.substr(0, manifest.rfind('/'));
  while (folder.size() > top.size() && remove_empty_folder(folder)) folder.erase(folder.rfind('/'));
}

}  // namespace

Result<RegistryRemoval> plan_registry_removal(const RegistryStore& store,
                                              const RegistryReference& reference) {
  TRY(check_is_plain(store, reference));
  RegistryRemoval removal;
  removal.manifest = store.manifest_path(reference);
  const std::string text = TRY(manifest_text(removal.manifest));
  const RegistryManifest manifest = TRY(read_registry_manifest(text, removal.manifest));
  if (manifest.listed)
    return fail(Code::unsupported, "{}: a list of manifests; `ollama rm` removes it",
                removal.manifest);
  const Digests kept = TRY(referenced(store, removal.manifest));
  removal.n_bytes = static_cast<int64_t>(text.size());
  for (const RegistryLayer& layer : TRY(all_layers(manifest, removal.manifest))) {
    const std::string path = store.blob_path(layer.digest);
    const Result<FileStamp> stamp = stamp_of(path);
    if (!stamp) continue;
    if (kept.contains(layer.digest.hex)) {
      ++removal.n_shared;
      continue;
    }
    removal.layers.push_back(path);
    removal.n_bytes += static_cast<int64_t>(stamp->n_bytes);
  }
  return removal;
}

Result<RegistryRemoval> remove_registry_model(const RegistryStore& store,
                                              const RegistryReference& reference,
                                              const std::function<bool()>& goes_on) {
  TRY(check_is_plain(store, reference));
  const FileLock lock = TRY(hold_for_removal(store, goes_on));
  RegistryRemoval removal = TRY(plan_registry_removal(store, reference));
  std::vector<std::string> paths{removal.manifest};
  paths.insert(paths.end(), removal.layers.begin(), removal.layers.end());
  for (const std::string& path : paths) {
    if (!goes_on()) return fail(Code::cancelled, "{}: stopped", text_of(reference));
    TRY(removed_or(path));
  }
  remove_empty_folders(store, removal.manifest);
  return removal;
}

Result<std::vector<FolderEntry>> unreferenced_layers(const RegistryStore& store) {
  std::vector<FolderEntry> layers = files_in(store.folder() + "/blobs");
  if (layers.empty()) return layers;
  const Digests kept = TRY(referenced(store, ""));
  const int64_t settled = settled_before_ns();
  std::erase_if(layers, [&](const FolderEntry& layer) {
    const std::string name = file_name_of(layer.path);
    const bool is_layer = name.size() == kBlobPrefix.size() + kDigits &&
                          name.starts_with(kBlobPrefix) &&
                          std::ranges::all_of(name.substr(kBlobPrefix.size()), is_digit);
    return !is_layer || layer.modified_ns > settled ||
           kept.contains(name.substr(kBlobPrefix.size()));
  });
  std::ranges::sort(layers, {}, &FolderEntry::path);
  return layers;
}

}  // namespace ruv
