// Only files whose names the program gives are counted and removed: a folder may hold others.
#include "kept_data.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <optional>

#include "base/append_file.h"
#include "base/file.h"
#include "base/folder.h"
#include "base/tree.h"
#include "hub/fetch_file.h"
#include "hub/hub_removal.h"
#include "hub/registry_hold.h"
#include "hub/registry_removal.h"

namespace ruv {
namespace {

// Files that go together, and the lock that their user holds.
struct FileGroup {
  std::string lock;  // empty: there is none
  std::vector<FolderEntry> files;
};

// Held by the process that uses the folder.
constexpr const char* kLockFile = "/lock";

// Empty where the place is not known, so that nothing is looked for at the root.
std::string below(const std::string& place, const char* name) {
  return place.empty() ? place : fmt::format("{}/{}", place, name);
}

bool is_hex_name(const std::string& name, size_t n_digits, std::string_view ending) {
  return name.size() == n_digits + ending.size() && name.ends_with(ending) &&
         name.find_first_not_of("0123456789abcdef") >= n_digits;
}

std::vector<FolderEntry> files_named(const std::string& folder,
                                     const std::function<bool(const std::string&)>& is_ours) {
  std::vector<FolderEntry> files = files_in(folder);
  std::erase_if(files, [&](const FolderEntry& file) { return !is_ours(file_name_of(file.path)); });
  return files;
}

// A running process has mapped what it uses, so that only a file that is being written is locked.
std::vector<FileGroup> packed_weights(const KeptPlaces& places) {
  std::vector<FileGroup> all(1);
  for (const FolderEntry& file : files_in(places.packed)) {
    if (file.path.ends_with(".ruvpack")) all.front().files.push_back(file);
    if (file.path.ends_with(".ruvpack.partial")) all.push_back({file.path, {file}});
  }
  return all;
}

// In the folder itself those of the first model, in folders below those of others.
std::vector<FileGroup> prefix_pages(const KeptPlaces& places) {
  std::vector<std::string> folders{places.cache};
  for (const std::string& name : folders_in(places.cache)) {
    if (name.starts_with("model-")) folders.push_back(places.cache + "/" + name);
  }
  std::vector<FileGroup> all;
  for (const std::string& folder : folders) {
    all.push_back({folder + kLockFile, files_named(folder, [](const std::string& name) {
                     return is_hex_name(name, 8, ".ruvpages");
                   })});
  }
  return all;
}

std::vector<FileGroup> conversations(const std::string& folder) {
  return {{folder + kLockFile, files_named(folder, [](const std::string& name) {
             return is_hex_name(name, 32, ".session");
           })}};
}
std::vector<FileGroup> kept_sessions(const KeptPlaces& places) {
  return conversations(below(places.cache, "sessions"));
}
std::vector<FileGroup> kept_responses(const KeptPlaces& places) {
  return conversations(below(places.cache, "responses"));
}

std::vector<FileGroup> kept_documents(const KeptPlaces& places) {
  const std::string folder = below(places.data, "memory");
  FileGroup all{"", files_in(folder)};
  for (const FolderEntry& file : files_in(below(folder, "vectors"))) all.files.push_back(file);
  return {all};
}

std::vector<FileGroup> one_file(const std::string& path) {
  if (path.empty() || !file_exists(path)) return {};
  const Result<FileStamp> stamp = stamp_of(path);
  return {{"", {{path, stamp ? static_cast<int64_t>(stamp->n_bytes) : 0, 0}}}};
}
std::vector<FileGroup> typed_history(const KeptPlaces& places) {
  return one_file(below(places.data, "history"));
}
std::vector<FileGroup> given_names(const KeptPlaces& places) {
  return one_file(below(places.data, "models.json"));
}
std::vector<FileGroup> settings_file(const KeptPlaces& places) { return one_file(places.config); }

// Whole files; links to them are not counted.
std::vector<FileGroup> hub_models(const KeptPlaces& places) {
  const HubCache cache(places.hub);
  FileGroup all;
  for (const std::string& repo : cache.repos()) {
    const std::string folder = cache.repo_folder(repo);
    for (const TreeEntry& entry : files_below(folder)) {
      const bool is_begun = entry.path.ends_with(".incomplete") || entry.path.ends_with(".ranges");
      if (!entry.is_link && !is_begun)
        all.files.push_back({folder + "/" + entry.path, entry.n_bytes, 0});
    }
  }
  return {all};
}

// The bytes of a download that ended early count as its first file's.
std::vector<FileGroup> begun_downloads(const KeptPlaces& places) {
  const HubCache cache(places.hub);
  std::vector<FileGroup> all;
  for (const UnfinishedFile& file : unfinished_files(cache)) {
    FileGroup group;
    group.lock = cache.lock_path(file.repo, file.digest);
    for (const std::string& path : file.paths)
      group.files.push_back({path, group.files.empty() ? file.n_bytes : 0, 0});
    all.push_back(std::move(group));
  }
  for (const FolderEntry& file : files_in(below(places.ollama, "ruvllm-unfinished"))) {
    constexpr std::string_view kEnding = ".ruvllm.incomplete";
    if (!file.path.ends_with(kEnding)) continue;
    const std::string layer = file.path.substr(0, file.path.size() - kEnding.size());
    all.push_back(
        {layer + ".lock", {{file.path, fetched_bytes(layer), 0}, {journal_path(layer), 0, 0}}});
  }
  return all;
}

// A group for each content, so that what is being fetched keeps nothing else. What cannot be read
// shows none; removing fails with the reason.
std::vector<FileGroup> leftovers(const KeptPlaces& places) {
  std::vector<FileGroup> all;
  const HubCache cache(places.hub);
  if (const auto files = unlinked_files(cache)) {
    for (const UnlinkedFile& file : *files)
      all.push_back({"", {{cache.blob_path(file.repo, file.digest), file.n_bytes, 0}}});
  }
  if (places.ollama.empty()) return all;
  if (const auto layers = unreferenced_layers(RegistryStore(places.ollama))) {
    for (const FolderEntry& layer : *layers) all.push_back({"", {layer}});
  }
  return all;
}

std::vector<FileGroup> ollama_models(const KeptPlaces& places) {
  return {{"", files_named(below(places.ollama, "blobs"),
                           [](const std::string& name) { return name.starts_with("sha256-"); })}};
}

struct KeptKind {
  const char* name;
  const char* what;
  std::string (*path)(const KeptPlaces&);
  Cleaning cleaning;
  const char* remover;
  std::vector<FileGroup> (*files)(const KeptPlaces&);
  // Where a lock is not all that is looked at; null: remove_files.
  Status (*remove)(const KeptPlaces&, CleanedData&) = nullptr;
};

// Counts what is gone; what is in use stays.
Status count_removal(const Status& status, const std::string& path, int64_t n_bytes,
                     CleanedData& done) {
  if (status.code() == Code::unavailable) {
    done.busy.push_back(path);
    return {};
  }
  TRY(Status(status));
  if (file_exists(path)) return {};  // something leads to it meanwhile
  done.n_files += 1;
  done.n_bytes += n_bytes;
  return {};
}

Status remove_hub_leftovers(const KeptPlaces& places, CleanedData& done) {
  const HubCache cache(places.hub);
  for (const UnlinkedFile& file : TRY(unlinked_files(cache))) {
    const std::string path = cache.blob_path(file.repo, file.digest);
    TRY(count_removal(remove_unlinked(cache, file), path, file.n_bytes, done));
  }
  return {};
}

Status remove_ollama_leftovers(const KeptPlaces& places, CleanedData& done) {
  if (places.ollama.empty()) return {};
  const RegistryStore store(places.ollama);
  const auto here = unreferenced_layers(store);
  if (!here) done.notes.push_back(here.error().message());
  if (!here || here->empty()) return {};
  const Result<FileLock> lock = hold_for_removal(store, [] { return true; });
  if (!lock) {
    done.notes.push_back(lock.error().message());
    return {};
  }
  // Once more, as a pull may have ended meanwhile.
  for (const FolderEntry& layer : TRY(unreferenced_layers(store))) {
    const Status status = remove_file(layer.path)
                              ? Status()
                              : fail(Code::internal, "{}: cannot be removed", layer.path);
    TRY(count_removal(status, layer.path, layer.n_bytes, done));
  }
  return {};
}

Status remove_leftovers(const KeptPlaces& places, CleanedData& done) {
  TRY(remove_hub_leftovers(places, done));
  return remove_ollama_leftovers(places, done);
}

constexpr KeptKind kKinds[] = {
    {"packed", "packed weights, which make the next start fast",
     [](const KeptPlaces& places) { return places.packed; }, Cleaning::usual, "", packed_weights},
    {"prefixes", "beginnings of prompts, which are not computed again",
     [](const KeptPlaces& places) { return places.cache; }, Cleaning::usual, "", prefix_pages},
    {"unfinished", "downloads that ended early and would continue",
     [](const KeptPlaces& places) { return places.hub; }, Cleaning::usual, "", begun_downloads},
    {"leftovers", "contents that no model needs, as a removal leaves them that was ended",
     [](const KeptPlaces& places) { return places.hub; }, Cleaning::usual, "", leftovers,
     remove_leftovers},
    {"responses", "answers that a server keeps for its clients",
     [](const KeptPlaces& places) { return below(places.cache, "responses"); }, Cleaning::named, "",
     kept_responses},
    {"history", "lines typed in `ruvllm chat`",
     [](const KeptPlaces& places) { return below(places.data, "history"); }, Cleaning::named, "",
     typed_history},
    {"sessions", "kept conversations",
     [](const KeptPlaces& places) { return below(places.cache, "sessions"); }, Cleaning::never,
     "`ruvllm sessions delete`", kept_sessions},
    {"memory", "documents that `ruvllm memory` keeps",
     [](const KeptPlaces& places) { return below(places.data, "memory"); }, Cleaning::never,
     "`ruvllm memory rm`", kept_documents},
    {"models", "models of the hub, shared with other programs",
     [](const KeptPlaces& places) { return places.hub; }, Cleaning::never, "`ruvllm rm`",
     hub_models},
    {"ollama", "models of Ollama's registry, shared with Ollama",
     [](const KeptPlaces& places) { return places.ollama; }, Cleaning::never, "`ruvllm rm`",
     ollama_models},
    {"names", "names that `ruvllm tag` gave",
     [](const KeptPlaces& places) { return below(places.data, "models.json"); }, Cleaning::never,
     "`ruvllm rm`", given_names},
    {"config", "the configuration file", [](const KeptPlaces& places) { return places.config; },
     Cleaning::never, "an editor", settings_file},
};

Status remove_files(const FileGroup& group, CleanedData& done) {
  std::optional<FileLock> lock;
  if (!group.lock.empty()) {
    TRY(make_folder(group.lock.substr(0, group.lock.rfind('/'))));
    Result<FileLock> taken = FileLock::take(group.lock);
    if (!taken && taken.error().code() == Code::unavailable) {
      done.busy.push_back(group.files.front().path);
      return {};
    }
    if (!taken) return taken.error();
    lock.emplace(std::move(*taken));
  }
  for (const FolderEntry& file : group.files) {
    const bool was_there = file_exists(file.path);
    if (!remove_file(file.path)) return fail(Code::internal, "{}: cannot be removed", file.path);
    done.n_files += was_there ? 1 : 0;
    done.n_bytes += file.n_bytes;
  }
  return {};
}

}  // namespace

std::vector<std::string> kept_names() {
  std::vector<std::string> all;
  for (const KeptKind& kind : kKinds) all.emplace_back(kind.name);
  return all;
}

std::vector<KeptData> kept_data(const KeptPlaces& places) {
  std::vector<KeptData> all;
  for (const KeptKind& kind : kKinds) {
    KeptData data{.name = kind.name,
                  .what = kind.what,
                  .path = kind.path(places),
                  .cleaning = kind.cleaning,
                  .remover = kind.remover};
    for (const FileGroup& group : kind.files(places)) {
      for (const FolderEntry& file : group.files) {
        data.n_bytes += file.n_bytes;
        data.n_files += 1;
      }
    }
    all.push_back(std::move(data));
  }
  return all;
}

Result<CleanedData> clean_kept(const KeptPlaces& places, const std::string& name, bool dry) {
  const auto kind =
      std::ranges::find_if(kKinds, [&](const KeptKind& one) { return name == one.name; });
  if (kind->cleaning == Cleaning::never)
    return fail(Code::invalid, "{}: {}; {} removes them", name, kind->what, kind->remover);
  CleanedData done;
  if (!dry && kind->remove != nullptr) {
    TRY(kind->remove(places, done));
    return done;
  }
  for (const FileGroup& group : kind->files(places)) {
    if (group.files.empty()) continue;
    if (!dry) {
      TRY(remove_files(group, done));
      continue;
    }
    for (const FolderEntry& file : group.files) done.n_bytes += file.n_bytes;
    done.n_files += static_cast<int64_t>(group.files.size());
  }
  return done;
}

}  // namespace ruv
