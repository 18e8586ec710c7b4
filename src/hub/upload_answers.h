// What a hub says of files that are about to be sent to it: how it wants each of them, where the
// contents of large ones go, and which commit they became.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace ruv {

// How a file is sent: within the commit, or over LFS before it.
struct UploadMode {
  std::string path;
  bool is_lfs = false;
  bool is_ignored = false;  // by the repository's .gitignore
};

// Where the content of an LFS file goes.
struct UploadPlace {
  std::string digest;  // SHA-256
  uint64_t n_bytes = 0;
  bool is_there = false;
  std::string url = {};                   // of the whole content, or to end one in parts
  std::vector<std::string> headers = {};  // "Name: value", of a whole content
  uint64_t part_bytes = 0;                // 0: it is sent whole
  std::vector<std::string> part_urls = {};
  std::string verify_url = {};  // empty: nothing is to be verified
};

inline constexpr size_t kMaxUploadFiles = 256;

// One mode for each file that was asked for. Fails: corrupt.
Result<std::vector<UploadMode>> read_upload_modes(std::string_view text);
// Fails: corrupt; invalid (the hub refuses a content, in its own words), unsupported (a transfer
// other than basic and multipart).
Result<std::vector<UploadPlace>> read_upload_places(std::string_view text);
// The commit's name. Fails: corrupt.
Result<std::string> read_commit_answer(std::string_view text);

}  // namespace ruv
