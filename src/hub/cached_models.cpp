#include "hub/cached_models.h"

#include <algorithm>

#include "hub/choose_files.h"

namespace ruv {
namespace {

// What is written after '@' to mean the commit.
std::string revision_of(const CachedSnapshot& snapshot) {
  const bool is_main = std::ranges::find(snapshot.refs, "main") != snapshot.refs.end();
  if (is_main) return "main";
  return snapshot.refs.empty() ? snapshot.commit : snapshot.refs.front();
}

// The type where it means this file alone, else the file.
std::string want_of(const std::vector<RepoFile>& files, const ChosenFiles& model,
                    const std::string& type) {
  if (model.opened.empty()) return {};
  const Result<ChosenFiles> of_type = choose_files(files, type);
  return !type.empty() && of_type && of_type->opened == model.opened ? type : model.opened;
}

// A snapshot with several GGUF files has a row for each.
void add_models(const HubCache& cache, const CachedSnapshot& snapshot,
                std::vector<CachedModel>& all) {
  const std::string folder = cache.snapshot_folder(snapshot.repo, snapshot.commit);
  CachedModel of_snapshot;
  of_snapshot.commit = snapshot.commit;
  of_snapshot.refs = snapshot.refs;
  const std::vector<RepoFile> files = repo_files(snapshot.files);
  std::vector<ChosenFiles> models = all_models(files);
  const bool has_none = models.empty();
  if (has_none) models.push_back({files, {}});
  for (const ChosenFiles& chosen : models) {
    CachedModel model = of_snapshot;
    if (!has_none)
      model.type = chosen.opened.empty() ? "safetensors" : quant_in_name(chosen.opened);
    if (!has_none && model.type.empty()) model.type = "GGUF";
    const std::string want = want_of(files, chosen, quant_in_name(chosen.opened));
    model.name = text_of(HubReference{snapshot.repo, want, revision_of(snapshot)});
    model.path = chosen.opened.empty() ? folder : folder + "/" + chosen.opened;
    model.n_files = chosen.files.size();
    for (const RepoFile& file : chosen.files) model.n_bytes += static_cast<int64_t>(file.n_bytes);
    all.push_back(std::move(model));
  }
}

}  // namespace

std::vector<RepoFile> repo_files(const std::vector<CachedFile>& files) {
  std::vector<RepoFile> found;
  for (const CachedFile& file : files) {
    RepoFile one{file.path, static_cast<uint64_t>(file.n_bytes), {}};
    if (Result<FileDigest> digest = read_digest(file.blob)) one.digest = *digest;
    found.push_back(std::move(one));
  }
  return found;
}

std::vector<CachedModel> cached_models(const HubCache& cache) {
  std::vector<CachedModel> all;
  for (const std::string& repo : cache.repos()) {
    for (const CachedSnapshot& snapshot : cache.snapshots_of(repo))
      add_models(cache, snapshot, all);
  }
  return all;
}

}  // namespace ruv
