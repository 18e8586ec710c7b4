// `ruvllm memory backup s3://BUCKET/PREFIX` and `restore`: whole stores in a store of objects.
#pragma once

#include <string>

#include "hub/folder_snapshot.h"
#include "memory/store.h"

namespace ruv {

// Copies the store to a folder beside `folder`, uploads that and removes it; `store` is closed
// before the upload, so that others can open it. Keys, region and endpoint are those of the
// environment: AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_REGION, AWS_ENDPOINT_URL. Fails: as
// MemoryStore::backup, upload_snapshot, unsupported (AWS_SESSION_TOKEN).
Result<SnapshotTotals> backup_to_objects(std::unique_ptr<MemoryStore> store,
                                         const std::string& folder, const std::string& url);
// Fails: as download_snapshot, unsupported (AWS_SESSION_TOKEN).
Result<SnapshotTotals> restore_from_objects(const std::string& url, const std::string& folder);

}  // namespace ruv
