// The models that a cache holds, each as it is named and opened.
#pragma once

#include <string>
#include <vector>

#include "hub/hub_cache.h"

namespace ruv {

struct CachedModel {
  std::string name;  // "hf:owner/repo:Q8_0": means this model wherever a model is named
  std::string type;  // "Q8_0", "safetensors"; empty: nothing that could be opened
  std::string path;  // what is opened; else the snapshot's folder
  std::string commit;
  std::vector<std::string> refs;  // branches and tags that lead to the commit
  int64_t n_bytes = 0;
  size_t n_files = 0;
};

// By repository, commit and file. Contents that several models share count for each. A snapshot
// without any model is one of no type, so that it can be seen and removed.
std::vector<CachedModel> cached_models(const HubCache& cache);

// The files of a snapshot as choose_files takes them, with digests where their links name one.
std::vector<RepoFile> repo_files(const std::vector<CachedFile>& files);

}  // namespace ruv
