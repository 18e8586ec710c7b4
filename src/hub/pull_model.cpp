// One listing says everything; then the files, each under its lock.
#include "hub/pull_model.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/file.h"
#include "base/folder.h"
#include "hub/cached_models.h"
#include "hub/fetch_file.h"
#include "hub/waiting_lock.h"

namespace ruv {
namespace {

// Its own branch may contain '/', which the hub wants escaped here.
std::string escaped(std::string_view revision) {
  std::string text = url_path(revision);
  for (size_t at = text.find('/'); at != text.npos; at = text.find('/', at))
    text.replace(at, 1, "%2F");
  return text;
}

// A content that is here in its full size and that no loss of power has damaged.
bool is_here(const std::string& blob, const RepoFile& file) {
  if (!file_exists(blob)) return false;
  const Result<FileStamp> stamp = stamp_of(blob);
  if (stamp && stamp->n_bytes == file.n_bytes && check_after_power_loss(blob, *file.digest).ok())
    return true;
  remove_file(blob);
  return false;
}

// The pull of one model.
class Pull {
 public:
  Pull(HubHttp& http, const HubCache& cache, const HubReference& reference,
       const PullOptions& options)
      : http_(http), cache_(cache), reference_(reference), options_(options) {}

  Result<PulledModel> run() {
    const RepoListing listing = TRY(ask_listing(http_, reference_));
    const Result<ChosenFiles> chosen = choose_files(listing.files, reference_.want);
    if (!chosen) return tl::unexpected(with_context(reference_.repo, chosen.error()));
    for (const RepoFile& file : chosen->files) {
      if (!file.digest)
        return fail(Code::unsupported, "{}: the hub names no digest of {}", reference_.repo,
                    file.path);
      model_.n_bytes += file.n_bytes;
    }
    model_.n_files = chosen->files.size();
    model_.commit = listing.commit;
    const std::string folder = cache_.repo_folder(reference_.repo);
    TRY(make_folder(folder + "/blobs"));
    TRY(check_room(folder, chosen->files));
    for (const RepoFile& file : chosen->files) TRY(pull_file(file));
    TRY(cache_.set_ref(reference_.repo, reference_.revision, listing.commit));
    model_.path = cache_.snapshot_folder(reference_.repo, listing.commit);
    if (!chosen->opened.empty()) model_.path += "/" + chosen->opened;
    return model_;
  }

 private:
  // Before anything is fetched, for all files together.
  Status check_room(const std::string& folder, const std::vector<RepoFile>& files) const {
    uint64_t n_missing = 0;
    for (const RepoFile& file : files) {
      const std::string blob = cache_.blob_path(reference_.repo, file.digest->hex);
      const Result<FileStamp> begun = stamp_of(unfinished_path(blob));
      if (!file_exists(blob) && !begun) n_missing += file.n_bytes;
    }
    const DiskRoom room = TRY(disk_room(folder));
    if (n_missing <= static_cast<uint64_t>(std::max<int64_t>(room.n_free, 0))) return {};
    return fail(Code::out_of_memory, "{}: {:.1f} GB are missing, but {} has room for {:.1f} GB",
                reference_.repo, static_cast<double>(n_missing) / 1e9, folder,
                static_cast<double>(room.n_free) / 1e9);
  }

  bool show(const RepoFile& file, uint64_t n_here, bool is_waiting) const {
    if (http_.cancellation().is_cancelled()) return false;
    return !options_.watch ||
           options_.watch({file.path, n_done_ + n_here, model_.n_bytes, is_waiting});
  }

  Status pull_file(const RepoFile& file) {
    const std::string& repo = reference_.repo;
    const std::string blob = cache_.blob_path(repo, file.digest->hex);
    // Until the link is made: a removal between the two would leave a link to nothing.
    const FileLock lock = TRY(wait_for_lock(cache_.lock_path(repo, file.digest->hex),
                                            [&] { return show(file, 0, true); }));
    if (!is_here(blob, file)) {
      TRY(fetch(file, blob));
      model_.n_fetched += file.n_bytes;
    }
    n_done_ += file.n_bytes;
    return cache_.link(repo, model_.commit, file);
  }

  Status fetch(const RepoFile& file, const std::string& blob) {
    FetchCall call;
    call.url = fmt::format("{}/{}/resolve/{}/{}", http_.options().endpoint, reference_.repo,
                           model_.commit, url_path(file.path));
    call.name = file.path;
    call.path = blob;
    call.begun_path = blob + ".incomplete";
    call.n_bytes = file.n_bytes;
    call.digest = *file.digest;
    call.connections = options_.connections;
    call.watch = [&](uint64_t n_here) { return show(file, n_here, false); };
    return fetch_file(http_, call);
  }

  HubHttp& http_;
  const HubCache& cache_;
  const HubReference& reference_;
  const PullOptions& options_;
  PulledModel model_;
  uint64_t n_done_ = 0;
};

}  // namespace

Result<RepoListing> ask_listing(HubHttp& http, const HubReference& reference) {
  HttpExchange exchange;
  exchange.method = "GET";
  exchange.url = fmt::format("{}/api/models/{}/revision/{}?blobs=true", http.options().endpoint,
                             reference.repo, escaped(reference.revision));
  const std::string text = TRY(http.text(exchange, kMaxHubJson, reference.repo));
  return read_repo_listing(text, fmt::format("the hub's list of {}", reference.repo));
}

Result<PulledModel> pull_model(HubHttp& http, const HubCache& cache, const HubReference& reference,
                               const PullOptions& options) {
  return Pull(http, cache, reference, options).run();
}

Result<PulledModel> find_pulled(const HubCache& cache, const HubReference& reference) {
  const std::string commit = cache.commit_of(reference);
  if (commit.empty()) return fail(Code::not_found, "{} is not here", text_of(reference));
  const std::vector<RepoFile> files = repo_files(cache.files_of(reference.repo, commit));
  const Result<ChosenFiles> chosen = choose_files(files, reference.want);
  if (!chosen)
    return fail(Code::not_found, "{} is not here: {}", text_of(reference),
                chosen.error().message());
  PulledModel model;
  model.commit = commit;
  model.n_files = chosen->files.size();
  model.path = cache.snapshot_folder(reference.repo, commit);
  if (!chosen->opened.empty()) model.path += "/" + chosen->opened;
  for (const RepoFile& file : chosen->files) {
    model.n_bytes += file.n_bytes;
    const std::string path = cache.snapshot_folder(reference.repo, commit) + "/" + file.path;
    if (!file_exists(path)) return fail(Code::not_found, "{} is not here", file.path);
    if (!file.digest) continue;
    TRY(check_after_power_loss(cache.blob_path(reference.repo, file.digest->hex), *file.digest));
  }
  return model;
}

}  // namespace ruv
