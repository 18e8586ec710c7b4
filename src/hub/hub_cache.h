// HubCache: the folders of huggingface_hub's cache, which both programs read and write:
//
//   models--owner--name/refs/main                   the commit that a branch had last
//   models--owner--name/blobs/<digest>              contents
//   models--owner--name/snapshots/<commit>/<path>   relative links to them
//   .locks/models--owner--name/<digest>.lock        held (flock) while a content is written
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "hub/model_reference.h"
#include "hub/repo_listing.h"

namespace ruv {

// A file of a snapshot, through its link.
struct CachedFile {
  std::string path;
  std::string blob;  // its content's name; empty: a file of its own
  int64_t n_bytes = 0;
};

// What a commit of a repository has here.
struct CachedSnapshot {
  std::string repo;  // "owner/name"
  std::string commit;
  std::vector<std::string> refs;  // branches and tags that lead to it
  std::vector<CachedFile> files;
};

class HubCache {
 public:
  explicit HubCache(std::string folder) : folder_(std::move(folder)) {}
  const std::string& folder() const { return folder_; }

  // The folder of a repository. Requires: check_repo(repo).
  std::string repo_folder(std::string_view repo) const;
  std::string blob_path(std::string_view repo, std::string_view digest) const;
  std::string lock_path(std::string_view repo, std::string_view digest) const;
  std::string lock_folder(std::string_view repo) const;
  std::string snapshot_folder(std::string_view repo, std::string_view commit) const;
  std::string ref_path(std::string_view repo, std::string_view revision) const;

  // The commit of a branch, tag or commit as of the last pull; empty: not here.
  std::string commit_of(const HubReference& reference) const;
  // Fails: invalid, internal.
  Status set_ref(std::string_view repo, std::string_view revision, std::string_view commit) const;
  // The snapshot's name for a content that is here. Fails: invalid, internal.
  Status link(std::string_view repo, std::string_view commit, const RepoFile& file) const;

  // What a commit has here; nothing: it is not here.
  std::vector<CachedFile> files_of(std::string_view repo, std::string_view commit) const;
  // The repositories of models that are here, sorted. Folders whose names no repository has are
  // left out.
  std::vector<std::string> repos() const;
  std::vector<CachedSnapshot> snapshots_of(std::string_view repo) const;

 private:
  std::string folder_;
};

}  // namespace ruv
