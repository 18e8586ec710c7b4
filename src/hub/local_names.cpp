#include "hub/local_names.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>

#include "base/append_file.h"
#include "base/file.h"
#include "base/json.h"
#include "hub/waiting_lock.h"

namespace ruv {
namespace {

constexpr size_t kMaxVersions = 10'000;  // of one name
constexpr size_t kMaxLocalName = 64;

// Safe as a part of a path, and no option.
bool is_local_name(std::string_view name) {
  constexpr std::string_view kLetters =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-";
  return !name.empty() && name.size() <= kMaxLocalName &&
         name.find_first_not_of(kLetters) == name.npos &&
         std::string_view("._-").find(name.front()) == std::string_view::npos;
}

// In the order of their letters.
std::vector<std::string> tag_names(const LocalModel& model) {
  std::vector<std::string> names;
  for (const auto& [tag, number] : model.tags) names.push_back(tag);
  return names;
}

// Null: there is none of this number.
const LocalVersion* find_version(const LocalModel& model, int64_t number) {
  const auto found = std::ranges::find(model.versions, number, &LocalVersion::number);
  return found == model.versions.end() ? nullptr : &*found;
}

tl::unexpected<Status> no_name(const LocalName& name) {
  return fail(Code::not_found, "there is no name '{}'", name.name);
}

tl::unexpected<Status> no_version(const LocalName& name, const LocalModel& model) {
  if (name.number > 0)
    return fail(Code::not_found, "'{}' has no version {}; the newest is {}", name.name, name.number,
                model.versions.empty() ? 0 : model.versions.back().number);
  return fail(Code::not_found, "'{}' has no tag '{}'; it has {}", name.name, name.tag,
              model.tags.empty() ? "none" : fmt::format("{}", fmt::join(tag_names(model), ", ")));
}

// What LocalNames::parse reads.
Json version_json(const LocalVersion& version) {
  Json files = Json::array();
  for (const VersionFile& file : version.files) {
    files.push_back({{"path", file.path},
                     {"sha256", file.sha256},
                     {"n_bytes", file.n_bytes},
                     {"modified_ns", file.modified_ns},
                     {"changed_ns", file.changed_ns}});
  }
  return {{"number", version.number}, {"tag", version.tag},       {"time", version.unix_s},
          {"source", version.source}, {"sha256", version.sha256}, {"n_bytes", version.n_bytes},
          {"files", std::move(files)}};
}

}  // namespace

Result<LocalName> read_local_name(std::string_view text) {
  LocalName name;
  const size_t at = text.find_first_of(":@");
  name.name = text.substr(0, at);
  name.is_bare = at == text.npos;
  bool is_good = is_local_name(name.name) && name.name != "hf" && name.name != "ollama";
  if (!name.is_bare) {
    const std::string_view after = text.substr(at + 1);
    if (text[at] == ':') {
      name.tag = after;
      is_good = is_good && is_local_name(after);
    } else {
      const auto [end, error] =
          std::from_chars(after.data(), after.data() + after.size(), name.number);
      is_good =
          is_good && error == std::errc() && end == after.data() + after.size() && name.number > 0;
    }
  }
  if (is_good) return name;
  return fail(Code::invalid, "'{:.200}' is not NAME, NAME:TAG or NAME@VERSION", text);
}

std::string text_of(const LocalName& name) {
  if (name.number > 0) return fmt::format("{}@{}", name.name, name.number);
  return name.is_bare ? name.name : name.name + ":" + name.tag;
}

std::string LocalNames::dump() const {
  Json models = Json::array();
  for (const LocalModel& model : models_) {
    Json tags = Json::object();
    for (const auto& [tag, number] : model.tags) tags[tag] = number;
    Json versions = Json::array();
    for (const LocalVersion& version : model.versions) versions.push_back(version_json(version));
    models.push_back({{"name", model.name},
                      {"next", model.next},
                      {"tags", std::move(tags)},
                      {"versions", std::move(versions)}});
  }
  return Json{{"format", 1}, {"models", std::move(models)}}.dump() + "\n";
}

const LocalModel* LocalNames::find(std::string_view name) const {
  const auto found = std::ranges::find(models_, name, &LocalModel::name);
  return found == models_.end() ? nullptr : &*found;
}

Result<LocalVersion> LocalNames::version(const LocalName& name) const {
  const LocalModel* const model = find(name.name);
  if (model == nullptr) return no_name(name);
  const auto tag = model->tags.find(name.tag);
  const int64_t number = name.number > 0 ? name.number : tag == model->tags.end() ? 0 : tag->second;
  const LocalVersion* const version = find_version(*model, number);
  if (version == nullptr) return no_version(name, *model);
  return *version;
}

// A number is used up even if its version is removed later.
Result<int64_t> LocalNames::assign(const LocalName& name, LocalVersion version) {
  if (name.number > 0)
    return fail(Code::invalid, "versions are numbered here: give '{}' a tag", name.name);
  auto at = std::ranges::lower_bound(models_, name.name, {}, &LocalModel::name);
  if (at == models_.end() || at->name != name.name) at = models_.insert(at, {.name = name.name});
  if (at->versions.size() >= kMaxVersions)
    return fail(Code::invalid, "'{}' has {} versions: remove some", name.name, kMaxVersions);
  version.number = at->next++;
  version.tag = name.tag;
  at->tags[name.tag] = version.number;
  at->versions.push_back(std::move(version));
  return at->versions.back().number;
}

// A version that a tag means stays, since the tag would mean nothing.
Status LocalNames::remove(const LocalName& name) {
  const auto at = std::ranges::find(models_, name.name, &LocalModel::name);
  if (at == models_.end()) return no_name(name);
  if (name.is_bare) {
    models_.erase(at);
    return {};
  }
  if (name.number == 0) {
    if (at->tags.erase(name.tag) == 0) return no_version(name, *at);
    return {};
  }
  for (const auto& [tag, number] : at->tags) {
    if (number == name.number)
      return fail(Code::invalid, "'{}:{}' means version {}: remove that first, or assign it anew",
                  name.name, tag, number);
  }
  if (find_version(*at, name.number) == nullptr) return no_version(name, *at);
  std::erase_if(at->versions,
                [&](const LocalVersion& version) { return version.number == name.number; });
  if (at->versions.empty()) models_.erase(at);
  return {};
}

// A file that is not there is one without names; one that cannot be read is an error.
Result<LocalNames> load_local_names(const std::string& path) {
  if (!file_exists(path)) return LocalNames();
  return LocalNames::parse(TRY(read_text_file(path)), path);
}

// The lock has a file of its own, as the file itself is another one after each change.
Status change_local_names(const std::string& path, const std::function<bool()>& goes_on,
                          const std::function<Status(LocalNames&)>& change) {
  const FileLock lock = TRY(wait_for_lock(path + ".lock", goes_on));
  LocalNames names = TRY(load_local_names(path));
  TRY(change(names));
  FileWriter writer =
      TRY(FileWriter::create(path, {.readers = FileReaders::owner, .replace = true}));
  TRY(writer.write(as_bytes(names.dump())));
  TRY(writer.commit());
  return sync_folder(path.substr(0, path.rfind('/')));
}

}  // namespace ruv
