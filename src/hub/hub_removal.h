// Removing models from the cache, in an order that leaves a readable cache wherever it ends: what
// leads to a content goes before the content. A content goes with the last link to it.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "hub/hub_cache.h"

namespace ruv {

// What is removed, so that it can be shown first. Names of files are relative to their place.
struct HubRemoval {
  std::string repo;
  bool is_whole = false;             // the repository's folder with all that is in it
  std::vector<std::string> refs;     // of commits that go
  std::vector<std::string> commits;  // that go entirely
  std::vector<std::string> links;    // "commit/path" of the others
  std::vector<std::string> blobs;
  int64_t n_bytes = 0;  // that become free
};

// The repository, its file or type that `reference` wants, or what it has at a revision.
// `all_revisions`: that of the reference does not count. Fails: not_found, and as choose_files.
Result<HubRemoval> plan_removal(const HubCache& cache, const HubReference& reference,
                                bool all_revisions);
// Processes that have the files open keep what they read. `goes_on`, where it is given, is asked
// before every step. Fails: unavailable (a file of it is being fetched, by whatever program;
// nothing is removed then), invalid, cancelled (`goes_on` returned false).
Status remove_planned(const HubCache& cache, const HubRemoval& removal,
                      const std::function<bool()>& goes_on = {});

// A content that no snapshot leads to, as a removal that was ended leaves it.
struct UnlinkedFile {
  std::string repo;
  std::string digest;
  int64_t n_bytes = 0;
};
// Fails: invalid (a folder cannot be read).
Result<std::vector<UnlinkedFile>> unlinked_files(const HubCache& cache);
// Unless a snapshot leads to it meanwhile. The last one of a repository without snapshots takes its
// folder along. Fails: unavailable (it is being fetched), invalid, internal.
Status remove_unlinked(const HubCache& cache, const UnlinkedFile& file);

// A content whose fetching ended early.
struct UnfinishedFile {
  std::string repo;
  std::string digest;
  std::vector<std::string> paths;  // what there is of it, with its journal
  int64_t n_bytes = 0;             // that were fetched
};
std::vector<UnfinishedFile> unfinished_files(const HubCache& cache);
// Fails: unavailable (it is being fetched now), internal.
Status remove_unfinished(const HubCache& cache, const UnfinishedFile& file);

}  // namespace ruv
