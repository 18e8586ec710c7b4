// Every name that becomes a part of a path was checked by model_reference.h or repo_listing.h.
#include "hub/hub_cache.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/append_file.h"
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

// Empty when it is not a repository's folder.
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
  return name.find('/') == name.npos ? name : std::string();
}

}  // namespace

std::string HubCache::repo_folder(std::string_view repo) const {
  return folder_ + "/" + folder_name(repo);
}
std::string HubCache::blob_path(std::string_view repo, std::string_view digest) const {
  return fmt::format("{}/blobs/{}", repo_folder(repo), digest);
}
std::string HubCache::lock_path(std::string_view repo, std::string_view digest) const {
  return fmt::format("{}/.locks/{}/{}.lock", folder_, folder_name(repo), digest);
}
std::string HubCache::snapshot_folder(std::string_view repo, std::string_view commit) const {
  return fmt::format("{}/snapshots/{}", repo_folder(repo), commit);
}

std::string HubCache::commit_of(const HubReference& reference) const {
  if (is_commit(reference.revision)) {
    return is_directory(snapshot_folder(reference.repo, reference.revision)) ? reference.revision
                                                                             : std::string();
  }
  return commit_in(fmt::format("{}/refs/{}", repo_folder(reference.repo), reference.revision));
}

Status HubCache::set_ref(std::string_view repo, std::string_view revision,
                         std::string_view commit) const {
  if (revision == commit) return {};
  const std::string path = fmt::format("{}/refs/{}", repo_folder(repo), revision);
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

std::vector<std::string> HubCache::repos() const {
  std::vector<std::string> repos;
  for (const std::string& name : folders_in(folder_)) {
    if (std::string repo = repo_of(name); !repo.empty()) repos.push_back(std::move(repo));
  }
  return repos;
}

std::vector<CachedSnapshot> HubCache::snapshots_of(std::string_view repo) const {
  std::vector<CachedSnapshot> all;
  const std::string folder = repo_folder(repo);
  const std::vector<TreeEntry> refs = files_below(folder + "/refs");
  for (const std::string& commit : folders_in(folder + "/snapshots")) {
    if (!is_commit(commit)) continue;
    CachedSnapshot snapshot{std::string(repo), commit, {}, {}};
    for (const TreeEntry& ref : refs) {
      if (commit_in(fmt::format("{}/refs/{}", folder, ref.path)) == commit)
        snapshot.refs.push_back(ref.path);
    }
    for (const TreeEntry& entry : files_below(snapshot_folder(repo, commit)))
      snapshot.files.push_back({entry.path, blob_of(entry), entry.n_bytes});
    all.push_back(std::move(snapshot));
  }
  return all;
}

std::vector<CachedSnapshot> HubCache::snapshots() const {
  std::vector<CachedSnapshot> all;
  for (const std::string& repo : repos()) {
    for (CachedSnapshot& snapshot : snapshots_of(repo)) all.push_back(std::move(snapshot));
  }
  return all;
}

namespace {

// Contents that files of the repository lead to, but for these of one snapshot.
std::set<std::string> kept_blobs(const std::vector<CachedSnapshot>& snapshots,
                                 std::string_view commit, const std::vector<std::string>& gone) {
  std::set<std::string> kept;
  for (const CachedSnapshot& snapshot : snapshots) {
    for (const CachedFile& file : snapshot.files) {
      const bool goes =
          snapshot.commit == commit && std::ranges::find(gone, file.path) != gone.end();
      if (!goes) kept.insert(file.blob);
    }
  }
  return kept;
}

}  // namespace

// Holds the lock of each content, so that no download loses its file.
Result<int64_t> HubCache::remove_repo(std::string_view repo) const {
  const std::string folder = repo_folder(repo);
  if (!is_directory(folder)) return fail(Code::not_found, "{} is not here", repo);
  int64_t n_bytes = 0;
  std::vector<FileLock> locks;
  for (const FolderEntry& blob : files_in(folder + "/blobs")) {
    const std::string name = file_name_of(blob.path);
    const std::string lock = lock_path(repo, name.substr(0, name.find('.')));
    TRY(make_folder(parent_of(lock)));
    locks.push_back(TRY(FileLock::take(lock)));
    n_bytes += blob.n_bytes;
    if (locks.size() > 256) locks.clear();
  }
  TRY(remove_tree(folder));
  return n_bytes;
}

Result<int64_t> HubCache::remove(std::string_view repo, std::string_view commit,
                                 const std::vector<std::string>& paths) const {
  if (paths.empty()) return remove_repo(repo);
  const std::vector<CachedSnapshot> all = snapshots_of(repo);
  const auto snapshot = std::ranges::find(all, commit, &CachedSnapshot::commit);
  if (snapshot == all.end()) return fail(Code::not_found, "{}@{} is not here", repo, commit);
  const std::set<std::string> kept = kept_blobs(all, commit, paths);
  int64_t n_bytes = 0;
  for (const CachedFile& file : snapshot->files) {
    if (std::ranges::find(paths, file.path) == paths.end()) continue;
    if (!file.blob.empty() && !kept.contains(file.blob)) {
      const std::string lock_name = lock_path(repo, file.blob);
      TRY(make_folder(parent_of(lock_name)));
      const FileLock lock = TRY(FileLock::take(lock_name));
      if (remove_file(blob_path(repo, file.blob))) n_bytes += file.n_bytes;
    }
    remove_file(fmt::format("{}/{}", snapshot_folder(repo, commit), file.path));
  }
  return n_bytes;
}

}  // namespace ruv
