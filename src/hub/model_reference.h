// How a user names a model of a hub: `owner/repo[:file or quant][@revision]`.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace ruv {

struct HubReference {
  std::string repo;               // "owner/name"
  std::string want = {};          // a file of it or a type of quantisation; empty: ours to choose
  std::string revision = "main";  // a branch, tag or commit
};
// With or without "hf:" in front. Fails: invalid.
Result<HubReference> read_hub_reference(std::string_view text);
std::string text_of(const HubReference& reference);

// "owner/name", letters, digits, '.', '_' and '-', at most 96 of each. Fails: invalid.
Status check_repo(std::string_view repo);
// A branch, tag, "refs/pr/1" or commit. Fails: invalid.
Status check_revision(std::string_view revision);
bool is_commit(std::string_view revision);
// A path within a repository that means a place below its folder: no empty part, "." or "..", no
// backslash and no byte below 32; at most 1024 bytes. Fails: corrupt.
Status check_file_path(std::string_view path);
// A path or revision within a URL; '/' stays.
std::string url_path(std::string_view path);

}  // namespace ruv
