#include "hub/registry_hold.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/folder.h"
#include "hub/waiting_lock.h"

namespace ruv {
namespace {

constexpr std::string_view kPullEnding = ".pull.lock";
constexpr int64_t kSettledS = 3600;

std::string staging_folder(const RegistryStore& store) {
  return store.folder() + "/ruvllm-unfinished";
}

// Held while a removal works, and for a moment when a pull begins.
Result<FileLock> take_store(const RegistryStore& store, const std::function<bool()>& goes_on) {
  return wait_for_lock(staging_folder(store) + "/store.lock", goes_on);
}

// Ollama's unfinished files are sha256-<digest>-partial and sha256-<digest>-partial-<number>.
Status check_ollama(const RegistryStore& store) {
  const int64_t settled = settled_before_ns();
  for (const FolderEntry& file : files_in(store.folder() + "/blobs")) {
    const std::string name = file_name_of(file.path);
    const bool is_partial = name.starts_with("sha256-") && name.find("-partial") != name.npos;
    if (is_partial && file.modified_ns > settled) {
      return fail(Code::unavailable,
                  "{}: Ollama may be fetching it; nothing was removed, and `ollama rm` can", name);
    }
  }
  return {};
}

}  // namespace

int64_t settled_before_ns() { return (unix_seconds() - kSettledS) * 1'000'000'000; }

Result<FileLock> hold_for_pull(const RegistryStore& store, const FileDigest& model,
                               const std::function<bool()>& goes_on) {
  const std::string path =
      staging_folder(store) + "/sha256-" + model.hex + std::string(kPullEnding);
  FileLock pull = TRY(wait_for_lock(path, goes_on));
  // A removal that looked before this one was taken has ended then.
  TRY(take_store(store, goes_on));
  return pull;
}

Result<FileLock> hold_for_removal(const RegistryStore& store,
                                  const std::function<bool()>& goes_on) {
  Result<FileLock> store_lock = take_store(store, goes_on);
  if (!store_lock) return store_lock;
  for (const FolderEntry& file : files_in(staging_folder(store))) {
    if (!file.path.ends_with(kPullEnding)) continue;
    const Result<FileLock> pull = FileLock::take(file.path);
    if (!pull && pull.error().code() == Code::unavailable) {
      return fail(Code::unavailable, "{}: a model is being fetched; nothing was removed",
                  store.folder());
    }
    if (!pull) return tl::unexpected(pull.error());
  }
  TRY(check_ollama(store));
  return store_lock;
}

}  // namespace ruv
