// Snapshots of folders in a store of objects: files in pieces of at most 1 GB, under the names
// PREFIX/1, PREFIX/2 and on, and PREFIX/manifest.json, which says what belongs to which file, with
// sizes and SHA-256. The manifest is written last, so that an upload that was cut off is not
// a snapshot; it may be done again under the same prefix.
#pragma once

#include <string>

#include "hub/object_store.h"

namespace ruv {

struct SnapshotTotals {
  int64_t n_files = 0;
  int64_t n_bytes = 0;
};

// Uploads the regular files of a folder that nothing writes to meanwhile. Fails: invalid (the
// prefix has a snapshot already; a link in the folder), corrupt (a file changed), as files, as
// ObjectStore::put.
Result<SnapshotTotals> upload_snapshot(const std::string& folder, ObjectStore& store,
                                       const std::string& prefix);
// Downloads a snapshot to a folder that does not exist: as FOLDER.partial, which is renamed when
// all hashes are right, and removed where one is not. Fails: invalid (the folder exists), not_found
// (no manifest), corrupt (the manifest, or a piece that is not what it says, by its name), as
// files, as ObjectStore::get.
Result<SnapshotTotals> download_snapshot(ObjectStore& store, const std::string& prefix,
                                         const std::string& folder);

}  // namespace ruv
