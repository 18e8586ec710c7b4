// RepoListing: what a hub says of a repository at a revision, with the digest of every file.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hub/digest.h"

namespace ruv {

struct RepoFile {
  std::string path;  // a checked one
  uint64_t n_bytes = 0;
  // Nothing: the hub's list does not say; the head of the file's own answer must.
  std::optional<FileDigest> digest = {};
};

struct RepoListing {
  std::string commit;  // 40 hexadecimal digits
  std::vector<RepoFile> files;
};

// Longest text of a hub that is read as JSON.
inline constexpr size_t kMaxHubJson = 32 << 20;
inline constexpr size_t kMaxRepoFiles = 100'000;

// The answer of /api/models/<repo>/revision/<revision>?blobs=true. A path that leads out of the
// repository's folder, a size below 0 or a digest that is none refuses all of it. Fails: corrupt.
Result<RepoListing> read_repo_listing(std::string_view text, std::string_view source);

}  // namespace ruv
