// The list is small in practice; its limits are for servers that mean harm.
#include "hub/repo_listing.h"

#include <fmt/format.h>

#include "base/json.h"
#include "base/json_fields.h"
#include "hub/model_reference.h"

namespace ruv {
namespace {

constexpr JsonLimits kLimits{.depth = 32, .values = 4'000'000};

// Null when the member is absent or no text.
const Json* text_field(const Json& object, std::string_view name) {
  const Json* const found = object.find(name);
  return found != nullptr && found->is_string() ? found : nullptr;
}

// LFS files have the SHA-256 of what they mean, others the SHA-1 of their blob.
Status read_digest_of(const Json& entry, RepoFile& file) {
  const Json* const lfs = find_field(entry, "lfs");
  if (lfs != nullptr && !lfs->is_object())
    return fail(Code::corrupt, "'{}': 'lfs' is not an object", file.path);
  const Json* hex = lfs == nullptr ? text_field(entry, "blobId") : text_field(*lfs, "sha256");
  if (hex == nullptr && lfs != nullptr) hex = text_field(*lfs, "oid");
  if (hex == nullptr) return {};
  file.digest = TRY(read_digest(hex->text()));
  return {};
}

Result<RepoFile> read_file(const Json& entry) {
  if (!entry.is_object()) return fail(Code::corrupt, "a file is not an object");
  const Json* const path = text_field(entry, "rfilename");
  if (path == nullptr) return fail(Code::corrupt, "a file has no 'rfilename'");
  RepoFile file;
  file.path = path->get<std::string>();
  TRY(check_file_path(file.path));
  constexpr IntegerRange kSizes{0, int64_t{1} << 50};
  const FieldResult<int64_t> size = read_integer(entry, "size", 0, kSizes);
  if (!size) return fail(Code::corrupt, "'{}': {}", file.path, size.error().message);
  file.n_bytes = static_cast<uint64_t>(*size);
  TRY(read_digest_of(entry, file));
  return file;
}

Result<RepoListing> listing_of(const Json& json) {
  if (!json.is_object()) return fail(Code::corrupt, "not an object");
  const Json* const commit = text_field(json, "sha");
  if (commit == nullptr || !is_commit(commit->text()))
    return fail(Code::corrupt, "'sha' is not a commit");
  const Json* const siblings = json.find("siblings");
  if (siblings == nullptr || !siblings->is_array())
    return fail(Code::corrupt, "'siblings' is not an array");
  if (siblings->size() > kMaxRepoFiles)
    return fail(Code::corrupt, "it lists more than {} files", kMaxRepoFiles);
  RepoListing listing;
  listing.commit = commit->get<std::string>();
  for (const Json& entry : *siblings) listing.files.push_back(TRY(read_file(entry)));
  return listing;
}

}  // namespace

Result<RepoListing> read_repo_listing(std::string_view text, std::string_view source) {
  if (text.size() > kMaxHubJson)
    return fail(Code::corrupt, "{}: more than {} bytes", source, kMaxHubJson);
  const Json json = TRY(parse_json(text, source, kLimits));
  Result<RepoListing> listing = listing_of(json);
  if (!listing) return fail(Code::corrupt, "{}: {}", source, listing.error().message());
  return listing;
}

}  // namespace ruv
