// Which tensor is where in which safetensors file of a folder.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "convert/folder_tensors.h"

namespace ruv {

struct Shard {
  std::string name;      // of the file
  std::string header;    // its length, and JSON that is padded to 8 bytes
  uint64_t n_bytes = 0;  // of the whole file
};

struct ShardLayout {
  std::vector<Shard> shards;
  std::string index;     // model.safetensors.index.json; empty: there is one file
  uint64_t n_bytes = 0;  // of all tensors
};

// `shard_bytes`: as FolderOptions. Fails: unsupported (two tensors of one name).
Result<ShardLayout> shard_layout(const std::vector<FolderTensor>& tensors, uint64_t shard_bytes);

}  // namespace ruv
