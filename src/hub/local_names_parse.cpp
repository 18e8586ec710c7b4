// Reads the file of names. Its writer is this program, but a disk or an editor may have changed it:
// what does not fit is refused with its place, and nothing of the file is used.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/json.h"
#include "base/json_fields.h"
#include "hub/digest.h"
#include "hub/local_names.h"
#include "hub/model_reference.h"

namespace ruv {
namespace {

constexpr size_t kMaxNamesBytes = size_t{64} << 20;
constexpr JsonLimits kNamesLimits{.depth = 16, .values = 8'000'000};
constexpr int64_t kMostNumber = int64_t{1} << 53;
constexpr int64_t kLastSecond = 253'402'300'799;  // the end of the year 9999
constexpr size_t kMaxSource = 8192;

// All of these members, and no others: one that is not known might change what the rest means.
Status check_members(const Json& object, std::initializer_list<std::string_view> names) {
  if (!object.is_object()) return fail(Code::corrupt, "not an object");
  for (const auto& [key, value] : object.items()) {
    if (std::ranges::find(names, key) == names.end())
      return fail(Code::corrupt, "unknown field '{:.80}'", key);
  }
  for (const std::string_view name : names) {
    if (object.find(name) == nullptr) return fail(Code::corrupt, "'{}' is missing", name);
  }
  return {};
}

Result<std::string> text_at(const Json& object, const char* name) {
  const Json& value = *object.find(name);
  if (!value.is_string()) return fail(Code::corrupt, "{}: not a string", name);
  return value.get<std::string>();
}

Result<int64_t> number_at(const Json& object, const char* name, int64_t min, int64_t max) {
  const FieldResult<int64_t> number = integer_within(name, *object.find(name), {min, max});
  if (!number) return fail(Code::corrupt, "{}: {}", name, number.error().message);
  return *number;
}

Result<std::string> sha256_at(const Json& object) {
  std::string hex = TRY(text_at(object, "sha256"));
  const Result<FileDigest> digest = read_digest(hex);
  if (!digest || digest->kind != DigestKind::sha256 || digest->hex != hex)
    return fail(Code::corrupt, "sha256: not 64 hexadecimal digits");
  return hex;
}

// "models[2]: " in front of what reading an element says.
template <class Read>
Status each_at(const Json& object, const char* name, const Read& read) {
  const Json& list = *object.find(name);
  if (!list.is_array()) return fail(Code::corrupt, "{}: not an array", name);
  for (size_t i = 0; i < list.size(); ++i) {
    const Status status = read(list[i]);
    if (!status.ok()) {
      return fail(Code::corrupt, "{}[{}]: {}", name, i, status.message());
    }
  }
  return {};
}

Result<VersionFile> version_file(const Json& json) {
  TRY(check_members(json, {"path", "sha256", "n_bytes", "modified_ns", "changed_ns"}));
  VersionFile file;
  file.path = TRY(text_at(json, "path"));
  TRY(check_file_path(file.path));
  file.sha256 = TRY(sha256_at(json));
  file.n_bytes = TRY(number_at(json, "n_bytes", 0, kMostNumber));
  file.modified_ns = TRY(number_at(json, "modified_ns", INT64_MIN, INT64_MAX));
  file.changed_ns = TRY(number_at(json, "changed_ns", INT64_MIN, INT64_MAX));
  return file;
}

// A relative path would mean another file in another folder, a branch another one tomorrow.
Status check_source(const std::string& source) {
  const bool has_control =
      std::ranges::any_of(source, [](unsigned char c) { return c < 32 || c == 127; });
  if (has_control || source.size() > kMaxSource) return fail(Code::corrupt, "source: no path");
  if (source.starts_with('/')) return {};
  const Result<HubReference> hub = read_hub_reference(source);
  if (source.starts_with("hf:") && hub && is_commit(hub->revision)) return {};
  return fail(Code::corrupt, "source: neither an absolute path nor a hub's model at a commit");
}

// A tag or the name itself: what a user could have written.
Status check_word(const std::string& word, const char* what) {
  const Result<LocalName> name = read_local_name(word);
  if (name && name->is_bare) return {};
  return fail(Code::corrupt, "{}: '{:.80}' is none", what, word);
}

Result<LocalVersion> local_version(const Json& json) {
  TRY(check_members(json, {"number", "tag", "time", "source", "sha256", "n_bytes", "files"}));
  LocalVersion version;
  version.number = TRY(number_at(json, "number", 1, kMostNumber));
  version.tag = TRY(text_at(json, "tag"));
  TRY(check_word(version.tag, "tag"));
  version.unix_s = TRY(number_at(json, "time", 0, kLastSecond));
  version.source = TRY(text_at(json, "source"));
  TRY(check_source(version.source));
  version.sha256 = TRY(sha256_at(json));
  version.n_bytes = TRY(number_at(json, "n_bytes", 0, kMostNumber));
  TRY(each_at(json, "files", [&](const Json& file) -> Status {
    version.files.push_back(TRY(version_file(file)));
    return {};
  }));
  if (version.source.starts_with('/') == version.files.empty())
    return fail(Code::corrupt, "files: those of a path are needed, and of nothing else");
  return version;
}

// Versions come by number, so that tags can be looked up among them.
Result<LocalModel> local_model(const Json& json) {
  TRY(check_members(json, {"name", "next", "tags", "versions"}));
  LocalModel model;
  model.name = TRY(text_at(json, "name"));
  TRY(check_word(model.name, "name"));
  model.next = TRY(number_at(json, "next", 1, kMostNumber));
  TRY(each_at(json, "versions", [&](const Json& one) -> Status {
    LocalVersion version = TRY(local_version(one));
    const int64_t before = model.versions.empty() ? 0 : model.versions.back().number;
    if (version.number <= before || version.number >= model.next)
      return fail(Code::corrupt, "number: {} is not in order", version.number);
    model.versions.push_back(std::move(version));
    return {};
  }));
  const Json& tags = *json.find("tags");
  if (!tags.is_object()) return fail(Code::corrupt, "tags: not an object");
  for (const auto& [key, value] : tags.items()) {
    const std::string tag(key);
    TRY(check_word(tag, "tags"));
    const int64_t number = TRY(number_at(tags, tag.c_str(), 1, kMostNumber));
    if (!std::ranges::binary_search(model.versions, number, {}, &LocalVersion::number))
      return fail(Code::corrupt, "tags: '{}' means version {}, which is not here", tag, number);
    model.tags[tag] = number;
  }
  return model;
}

Result<std::vector<LocalModel>> local_models(const Json& json) {
  TRY(check_members(json, {"format", "models"}));
  const int64_t format = TRY(number_at(json, "format", 0, kMostNumber));
  if (format != 1) return fail(Code::unsupported, "format: {} is of another program", format);
  std::vector<LocalModel> models;
  TRY(each_at(json, "models", [&](const Json& one) -> Status {
    LocalModel model = TRY(local_model(one));
    if (!models.empty() && model.name <= models.back().name)
      return fail(Code::corrupt, "name: '{}' is not in order", model.name);
    models.push_back(std::move(model));
    return {};
  }));
  return models;
}

}  // namespace

Result<LocalNames> LocalNames::parse(std::string_view text, const std::string& source) {
  if (text.size() > kMaxNamesBytes)
    return fail(Code::corrupt, "{}: more than {} bytes", source, kMaxNamesBytes);
  const Json json = TRY(parse_json(text, source, kNamesLimits));
  Result<std::vector<LocalModel>> models = local_models(json);
  if (!models) return tl::unexpected(with_context(source, models.error()));
  LocalNames names;
  names.models_ = std::move(*models);
  return names;
}

}  // namespace ruv
