// Every name that becomes a part of a path was checked by model_reference.h or repo_listing.h.
#include "hub/hub_cache.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/file.h"
#include "base/folder.h"
#include "base/tree.h"

namespace ruv {
namespace {

constexpr std::string_view kModels = "models--";
constexpr size_t kMaxRefBytes = 200;

// "owner/name" has the folder "models--owner--name".
std::string folder_name(std::string_view repo) {
  std::string name(kModels);
  for (const char c : repo) name += c == '/' ? std::string("--") : std::string(1, c);
  return name;
}

// The repository of such a folder; empty: it is of none.
std::string repo_of(std::string_view folder) {
  if (!folder.starts_with(kModels)) return {};
  std::string repo(folder.substr(kModels.size()));
  const size_t dashes = repo.find("--");
  if (dashes == repo.npos) return {};
  repo.replace(dashes, 2, "/");
  return check_repo(repo).ok() ? repo : std::string();
}

std::string parent_of(const std::string& path) { return path.substr(0, path.rfind('/')); }

// A ref's commit; empty: the file is not one.
std::string commit_in(const std::string& path) {
  const Result<FileStamp> stamp = stamp_of(path);
  if (!stamp || stamp->n_bytes > kMaxRefBytes) return {};
  std::string text = read_text_file(path).value_or("");
  text.erase(std::min(text.find_last_not_of(" \r\n") + 1, text.size()));
  return is_commit(text) ? text : std::string();
}

// Replaced at once: another program may read it now.
Status write_text(const std::string& path, std::string_view text) {
  FileWriter writer = TRY(FileWriter::create(path, {.replace = true}));
  TRY(writer.write(as_bytes(text)));
  return writer.commit();
}

// The content that a snapshot's link means; empty when it leads elsewhere.
std::string blob_of(const TreeEntry& entry) {
  const size_t at = entry.link_target.rfind("blobs/");
  if (at == std::string::npos) return {};
  const std::string name = entry.link_target.substr(at + 6);
  return read_digest(name) ? name : std::string();
}

}  // namespace

std::string HubCache::repo_folder(std::string_view repo) const {
  return folder_ + "/" + folder_name(repo);
}
std::string HubCache::blob_path(std::string_view repo, std::string_view digest) const {
  return fmt::format("{}/blobs/{}", repo_folder(repo), digest);
}
std::string HubCache::lock_folder(std::string_view repo) const {
  return fmt::format("{}/.locks/{}", folder_, folder_name(repo));
}
std::string HubCache::lock_path(std::string_view repo, std::string_view digest) const {
  return fmt::format("{}/{}.lock", lock_folder(repo), digest);
}
std::string HubCache::ref_path(std::string_view repo, std::string_view revision) const {
  return fmt::format("{}/refs/{}", repo_folder(repo), revision);
}
std::string HubCache::snapshot_folder(std::string_view repo, std::string_view commit) const {
  return fmt::format("{}/snapshots/{}", repo_folder(repo), commit);
}

std::string HubCache::commit_of(const HubReference& reference) const {
  if (is_commit(reference.revision)) {
    return is_directory(snapshot_folder(reference.repo, reference.revision)) ? reference.revision
                                                                             : std::string();
  }
  return commit_in(ref_path(reference.repo, reference.revision));
}

Status HubCache::set_ref(std::string_view repo, std::string_view revision,
                         std::string_view commit) const {
  if (revision == commit) return {};
  const std::string path = ref_path(repo, revision);
  TRY(make_folder(parent_of(path)));
  if (commit_in(path) == commit) return {};
  return write_text(path, commit);
}

// Relative, so that the cache can be moved; one step up for each folder of the path.
Status HubCache::link(std::string_view repo, std::string_view commit, const RepoFile& file) const {
  const std::string path = fmt::format("{}/{}", snapshot_folder(repo, commit), file.path);
  TRY(make_folder(parent_of(path)));
  std::string up = "../../";
  for (const char c : file.path) up += c == '/' ? "../" : "";
  return make_link(fmt::format("{}blobs/{}", up, file.digest->hex), path);
}

std::vector<CachedFile> HubCache::files_of(std::string_view repo, std::string_view commit) const {
  std::vector<CachedFile> files;
  for (const TreeEntry& entry : files_below(snapshot_folder(repo, commit)))
    files.push_back({entry.path, blob_of(entry), entry.n_bytes});
  return files;
}

// Folders of datasets and spaces have other prefixes, those of strange names no repository.
std::vector<std::string> HubCache::repos() const {
  std::vector<std::string> repos;
  for (const std::string& name : folders_in(folder_)) {
    if (std::string repo = repo_of(name); !repo.empty()) repos.push_back(std::move(repo));
  }
  return repos;
}

// Several refs may lead to one commit, and some to none that is here.
std::vector<CachedSnapshot> HubCache::snapshots_of(std::string_view repo) const {
  std::vector<CachedSnapshot> all;
  const std::string folder = repo_folder(repo);
  const std::vector<TreeEntry> refs = files_below(folder + "/refs");
  for (const std::string& commit : folders_in(folder + "/snapshots")) {
    if (!is_commit(commit)) continue;
    CachedSnapshot snapshot{std::string(repo), commit, {}, files_of(repo, commit)};
    for (const TreeEntry& ref : refs) {
      if (commit_in(ref_path(repo, ref.path)) == commit) snapshot.refs.push_back(ref.path);
    }
    all.push_back(std::move(snapshot));
  }
  return all;
}

}  // namespace ruv
