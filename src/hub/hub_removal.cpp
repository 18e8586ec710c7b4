#include "hub/hub_removal.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/append_file.h"
#include "base/file.h"
#include "base/folder.h"
#include "base/tree.h"
#include "hub/cached_models.h"
#include "hub/choose_files.h"
#include "hub/fetch_file.h"
#include "hub/range_journal.h"

namespace ruv {
namespace {

constexpr std::string_view kGateEnding = ".kv-gate.json";  // what kv-gate writes beside a model
constexpr std::string_view kIncomplete = ".incomplete";

using Paths = std::set<std::string>;

// The files of a snapshot that a wish means, with what was measured of them.
Result<Paths> wanted_files(const CachedSnapshot& snapshot, const std::string& want) {
  Paths paths;
  if (want.empty()) {
    for (const CachedFile& file : snapshot.files) paths.insert(file.path);
    return paths;
  }
  const ChosenFiles chosen = TRY(choose_files(repo_files(snapshot.files), want));
  for (const RepoFile& file : chosen.files) paths.insert(file.path);
  const std::string gate = chosen.opened + std::string(kGateEnding);
  for (const CachedFile& file : snapshot.files) {
    if (file.path == gate) paths.insert(gate);
  }
  return paths;
}

// 0 where there is no such file: a link may lead to nothing.
int64_t size_of(const std::string& path) {
  const Result<FileStamp> stamp = stamp_of(path);
  return stamp ? static_cast<int64_t>(stamp->n_bytes) : 0;
}

// What a folder takes: contents once, and no links.
int64_t own_bytes(const std::string& folder) {
  int64_t n_bytes = 0;
  for (const TreeEntry& entry : files_below(folder)) n_bytes += entry.is_link ? 0 : entry.n_bytes;
  return n_bytes;
}

// What goes of each snapshot, by commit. A wish that no snapshot fulfils is an error.
Result<std::map<std::string, Paths>> chosen_paths(const std::vector<CachedSnapshot>& snapshots,
                                                  const HubReference& reference,
                                                  const std::string& commit) {
  std::map<std::string, Paths> gone;
  Status why(Code::not_found, text_of(reference) + " is not here");
  for (const CachedSnapshot& snapshot : snapshots) {
    if (!commit.empty() && snapshot.commit != commit) continue;
    Result<Paths> paths = wanted_files(snapshot, reference.want);
    if (paths) {
      gone[snapshot.commit] = std::move(*paths);
    } else {
      why = with_context(text_of(reference), paths.error());
    }
  }
  if (gone.empty()) return tl::unexpected(why);
  return gone;
}

// Everything of one repository: what goes of its snapshots, and the contents that nothing else
// leads to.
void plan_snapshots(const HubCache& cache, const std::vector<CachedSnapshot>& snapshots,
                    const std::map<std::string, Paths>& gone, HubRemoval& removal) {
  std::set<std::string> kept, free;
  for (const CachedSnapshot& snapshot : snapshots) {
    const auto found = gone.find(snapshot.commit);
    size_t n_gone = 0;
    for (const CachedFile& file : snapshot.files) {
      const bool goes = found != gone.end() && found->second.contains(file.path);
      n_gone += goes ? 1 : 0;
      if (!file.blob.empty()) (goes ? free : kept).insert(file.blob);
      if (goes) removal.links.push_back(snapshot.commit + "/" + file.path);
      if (goes && file.blob.empty()) removal.n_bytes += file.n_bytes;
    }
    if (found == gone.end() || n_gone < snapshot.files.size()) continue;
    removal.commits.push_back(snapshot.commit);
    removal.refs.insert(removal.refs.end(), snapshot.refs.begin(), snapshot.refs.end());
  }
  for (const std::string& blob : free) {
    if (kept.contains(blob)) continue;
    removal.blobs.push_back(blob);
    removal.n_bytes += size_of(cache.blob_path(removal.repo, blob));
  }
}

// Whether the contents of a repository are those of the list, and nothing else.
bool are_all_blobs(const HubCache& cache, const HubRemoval& removal) {
  const std::set<std::string> planned(removal.blobs.begin(), removal.blobs.end());
  return std::ranges::all_of(
      files_in(cache.repo_folder(removal.repo) + "/blobs"), [&](const FolderEntry& entry) {
        const std::string name = file_name_of(entry.path);
        return planned.contains(name) || planned.contains(name.substr(0, name.find('.')));
      });
}

// The locks of all contents that go: a program that fetches one holds its lock, the hub's own
// client as well.
Result<std::vector<FileLock>> take_locks(const HubCache& cache, const HubRemoval& removal) {
  // More are looked at, but not held: each takes a file descriptor.
  constexpr size_t kMostHeld = 256;
  std::vector<std::string> paths;
  if (removal.is_whole) {
    for (const FolderEntry& entry : files_in(cache.lock_folder(removal.repo)))
      paths.push_back(entry.path);
  } else {
    for (const std::string& blob : removal.blobs) {
      std::string path = cache.lock_path(removal.repo, blob);
      if (file_exists(path)) paths.push_back(std::move(path));
    }
  }
  std::vector<FileLock> locks;
  for (const std::string& path : paths) {
    Result<FileLock> lock = FileLock::take(path);
    if (!lock && lock.error().code() == Code::unavailable)
      return fail(Code::unavailable, "{}: a file of it is being fetched; nothing was removed",
                  removal.repo);
    if (!lock) return tl::unexpected(lock.error());
    if (locks.size() < kMostHeld) locks.push_back(std::move(*lock));
  }
  return locks;
}

Status asked(const std::function<bool()>& goes_on, const HubRemoval& removal) {
  if (!goes_on || goes_on()) return {};
  return fail(Code::cancelled, "{}: stopped", removal.repo);
}

// The contents that links below the snapshots lead to, whatever the names of their folders.
Result<Paths> linked_contents(const HubCache& cache, const std::string& repo) {
  Paths linked;
  for (const TreeEntry& entry : TRY(all_files_below(cache.repo_folder(repo) + "/snapshots"))) {
    if (entry.is_link) linked.insert(file_name_of(entry.link_target));
  }
  return linked;
}

// A file that is not there counts as removed: an earlier removal may have ended here.
Status gone_or(const std::string& path) {
  if (remove_file(path)) return {};
  return fail(Code::internal, "{}: cannot be removed", path);
}

}  // namespace

Result<HubRemoval> plan_removal(const HubCache& cache, const HubReference& reference,
                                bool all_revisions) {
  HubRemoval removal;
  removal.repo = reference.repo;
  const std::string folder = cache.repo_folder(reference.repo);
  if (!is_directory(folder)) return fail(Code::not_found, "{} is not here", text_of(reference));
  const std::string commit = all_revisions ? std::string() : cache.commit_of(reference);
  if (commit.empty() && !all_revisions)
    return fail(Code::not_found, "{} is not here", text_of(reference));
  const std::vector<CachedSnapshot> snapshots = cache.snapshots_of(reference.repo);
  removal.is_whole = all_revisions && reference.want.empty();
  if (!removal.is_whole || !snapshots.empty()) {
    const std::map<std::string, Paths> gone = TRY(chosen_paths(snapshots, reference, commit));
    plan_snapshots(cache, snapshots, gone, removal);
  }
  // With its last snapshot the folder goes, unless something unfinished is in it.
  if (removal.commits.size() == snapshots.size() && are_all_blobs(cache, removal))
    removal.is_whole = true;
  if (removal.is_whole) removal.n_bytes = own_bytes(folder);
  return removal;
}

// First what names a commit, then its links, then contents. Ended anywhere, it leaves contents that
// nothing leads to, and no link to nothing.
Status remove_planned(const HubCache& cache, const HubRemoval& removal,
                      const std::function<bool()>& goes_on) {
  const std::vector<FileLock> locks = TRY(take_locks(cache, removal));
  const std::string folder = cache.repo_folder(removal.repo);
  for (const std::string& ref : removal.refs) {
    TRY(asked(goes_on, removal));
    TRY(gone_or(cache.ref_path(removal.repo, ref)));
  }
  for (const std::string& link : removal.links) {
    TRY(asked(goes_on, removal));
    TRY(gone_or(folder + "/snapshots/" + link));
  }
  for (const std::string& commit : removal.commits) {
    TRY(asked(goes_on, removal));
    TRY(remove_tree(cache.snapshot_folder(removal.repo, commit)));
    // What the hub's own client notes of files that a commit does not have.
    TRY(remove_tree(folder + "/.no_exist/" + commit));
  }
  for (const std::string& blob : removal.blobs) {
    TRY(asked(goes_on, removal));
    const std::string path = cache.blob_path(removal.repo, blob);
    TRY(gone_or(path));
    TRY(gone_or(journal_path(path)));
  }
  if (!removal.is_whole) return {};
  TRY(asked(goes_on, removal));
  return remove_tree(folder);
}

Result<std::vector<UnlinkedFile>> unlinked_files(const HubCache& cache) {
  std::vector<UnlinkedFile> all;
  for (const std::string& repo : cache.repos()) {
    const Paths linked = TRY(linked_contents(cache, repo));
    for (const FolderEntry& entry : files_in(cache.repo_folder(repo) + "/blobs")) {
      const std::string digest = file_name_of(entry.path);
      if (read_digest(digest) && !linked.contains(digest))
        all.push_back({repo, digest, entry.n_bytes});
    }
  }
  return all;
}

// Other programs make the link while they hold the content's lock, as we do.
Status remove_unlinked(const HubCache& cache, const UnlinkedFile& file) {
  TRY(make_folder(cache.lock_folder(file.repo)));
  const FileLock lock = TRY(FileLock::take(cache.lock_path(file.repo, file.digest)));
  const Paths linked = TRY(linked_contents(cache, file.repo));
  if (linked.contains(file.digest)) return {};
  const std::string path = cache.blob_path(file.repo, file.digest);
  TRY(gone_or(path));
  TRY(gone_or(journal_path(path)));
  const std::string folder = cache.repo_folder(file.repo);
  if (!linked.empty() || !TRY(all_files_below(folder)).empty()) return {};
  return remove_tree(folder);
}

// Both programs begin the names of such files with the digest; the rest tells which one it was.
std::vector<UnfinishedFile> unfinished_files(const HubCache& cache) {
  std::map<std::pair<std::string, std::string>, UnfinishedFile> found;
  for (const std::string& repo : cache.repos()) {
    for (const FolderEntry& entry : files_in(cache.repo_folder(repo) + "/blobs")) {
      const std::string name = file_name_of(entry.path);
      const std::string digest = name.substr(0, name.find('.'));
      if (!name.ends_with(kIncomplete) || !read_digest(digest)) continue;
      const std::string blob = cache.blob_path(repo, digest);
      UnfinishedFile& file = found[{repo, digest}];
      file.repo = repo;
      file.digest = digest;
      file.paths.push_back(entry.path);
      file.n_bytes += entry.path == unfinished_path(blob) ? fetched_bytes(blob) : entry.n_bytes;
      if (entry.path == unfinished_path(blob)) file.paths.push_back(journal_path(blob));
    }
  }
  std::vector<UnfinishedFile> all;
  for (auto& [key, file] : found) all.push_back(std::move(file));
  return all;
}

Status remove_unfinished(const HubCache& cache, const UnfinishedFile& file) {
  const std::string path = cache.lock_path(file.repo, file.digest);
  TRY(make_folder(cache.lock_folder(file.repo)));
  const FileLock lock = TRY(FileLock::take(path));
  for (const std::string& one : file.paths) TRY(gone_or(one));
  return {};
}

}  // namespace ruv
