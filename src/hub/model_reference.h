// How a user names a model that lies elsewhere: `owner/repo[:file or quant][@revision]` of a hub,
// `ollama:[host/][namespace/]name[:tag]` of a registry.
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

struct RegistryReference {
  std::string host = "registry.ollama.ai";  // with its port
  std::string space = "library";
  std::string name;
  std::string tag = "latest";
  bool is_plain = false;  // http and not https: of this machine only
};
// With or without "ollama:" in front. Fails: invalid.
Result<RegistryReference> read_registry_reference(std::string_view text);
std::string text_of(const RegistryReference& reference);

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
