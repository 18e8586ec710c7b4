// Files of a tenant on their way into a vector store.
#pragma once

#include <functional>
#include <vector>

#include "net/memory/vector_store_parts.h"

namespace ruv {

// Those that `file_ids` of a body names, each once, with these attributes and the body's
// `chunking_strategy`. Fails: 400 (too many, or too long together), 404.
ApiResult<std::vector<FileToAdd>> read_new_files(const StoreOwner& owner, const Json& body,
                                                 const Json& attributes);

// What is done with files before the answer: `begin` makes their store, where it is new, and `undo`
// deletes it where they cannot be added; `end` gives the answer.
struct FilesJob {
  std::string store;
  std::vector<FileToAdd> files;
  std::function<ApiResult<void>()> begin, undo;
  std::function<ApiResult<Json>()> end;
};

// Embeds the files, writes them, and answers. Returns before.
ApiResult<void> add_files(const MemoryRequest& call, const StoreOwner& owner, FilesJob job);

}  // namespace ruv
