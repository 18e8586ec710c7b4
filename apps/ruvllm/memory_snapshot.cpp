#include "memory_snapshot.h"

#include <fmt/format.h>

#include <cstdlib>

#include "base/entropy.h"
#include "base/tree.h"

namespace ruv {
namespace {

std::string text_of_variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

Result<ObjectStore> open_objects(const std::string& bucket) {
  if (!text_of_variable("AWS_SESSION_TOKEN").empty()) {
    return fail(Code::unsupported,
                "AWS_SESSION_TOKEN: keys that go with a token are not supported; unset it and give "
                "keys of a user");
  }
  ObjectStoreOptions options;
  options.endpoint = text_of_variable("AWS_ENDPOINT_URL");
  options.key_id = text_of_variable("AWS_ACCESS_KEY_ID");
  options.secret = text_of_variable("AWS_SECRET_ACCESS_KEY");
  for (const char* name : {"AWS_DEFAULT_REGION", "AWS_REGION"}) {
    const std::string region = text_of_variable(name);
    if (!region.empty()) options.region = region;
  }
  return ObjectStore::open(options, bucket);
}

// Removes the folder when it is left.
struct PassingFolder {
  std::string path;
  explicit PassingFolder(std::string named) : path(std::move(named)) {}
  PassingFolder(const PassingFolder&) = delete;
  PassingFolder& operator=(const PassingFolder&) = delete;
  ~PassingFolder() { (void)remove_tree(path); }
};

}  // namespace

Result<SnapshotTotals> backup_to_objects(std::unique_ptr<MemoryStore> store,
                                         const std::string& folder, const std::string& url) {
  const ObjectPlace place = TRY(read_object_url(url));
  ObjectStore objects = TRY(open_objects(place.bucket));
  const PassingFolder copy(fmt::format("{}.snapshot-{:016x}", folder, draw_entropy()));
  TRY(store->backup(copy.path));
  store.reset();
  return upload_snapshot(copy.path, objects, place.prefix);
}

Result<SnapshotTotals> restore_from_objects(const std::string& url, const std::string& folder) {
  const ObjectPlace place = TRY(read_object_url(url));
  ObjectStore objects = TRY(open_objects(place.bucket));
  return download_snapshot(objects, place.prefix, folder);
}

}  // namespace ruv
