// ruvllm tag: gives a model a name with a tag. Every assignment is kept as a numbered version.
#include <fmt/chrono.h>
#include <fmt/format.h>

#include <filesystem>

#include "base/clock.h"
#include "base/folder.h"
#include "base/json.h"
#include "command_line.h"
#include "commands.h"
#include "data_folder.h"
#include "format/model_file.h"
#include "hub/model_digest.h"
#include "model_defaults.h"
#include "model_name.h"
#include "remote_model.h"
#include "shown_text.h"
#include "terminal.h"

namespace ruv {
namespace {

struct TagCall {
  std::string source;
  std::string name;
  bool list = false;
  bool json = false;
};

// A hub's model, as of its commit for ever.
Result<LocalVersion> hub_version(const HubReference& hub) {
  RemoteCall call;
  call.prefer_local = true;
  const PulledModel pulled = TRY(fetch_remote(hub, call));
  TRY(ModelFile::open(pulled.path, {}));
  const DigestedModel digested = TRY(digest_model(pulled.path));
  HubReference pinned{hub.repo, {}, pulled.commit};
  const std::string folder = "/" + pulled.commit + "/";
  if (const size_t at = pulled.path.rfind(folder); at != std::string::npos)
    pinned.want = pulled.path.substr(at + folder.size());
  LocalVersion version;
  version.source = text_of(pinned);
  version.sha256 = digested.sha256;
  version.n_bytes = digested.n_bytes;
  return version;
}

Result<LocalVersion> path_version(const std::string& given) {
  std::error_code error;
  std::filesystem::path path = std::filesystem::absolute(given, error).lexically_normal();
  if (error) return fail(Code::invalid, "{}: {}", given, error.message());
  if (!path.has_filename()) path = path.parent_path();
  TRY(ModelFile::open(path.string(), {}));
  DigestedModel digested = TRY(digest_model(path.string()));
  LocalVersion version;
  version.source = path.string();
  version.sha256 = digested.sha256;
  version.n_bytes = digested.n_bytes;
  version.files = std::move(digested.files);
  return version;
}

Result<LocalVersion> version_of(const std::string& source) {
  const MeantModel meant = TRY(meant_model(source));
  if (meant.hub) return hub_version(*meant.hub);
  const ChosenModel chosen = TRY(located(meant));
  const std::string lost = defaults_text(chosen.defaults);
  if (!lost.empty() && !is_quiet())
    fmt::print(stderr, "ruvllm tag: the name means the file alone, without {}\n", lost);
  return path_version(chosen.path);
}

Json version_line(const LocalModel& model, const LocalVersion& version) {
  Json tags = Json::array();
  for (const auto& [tag, number] : model.tags) {
    if (number == version.number) tags.push_back(tag);
  }
  return {{"version", version.number}, {"assigned", version.tag},  {"tags", std::move(tags)},
          {"time", version.unix_s},    {"sha256", version.sha256}, {"n_bytes", version.n_bytes},
          {"source", version.source}};
}

Status assign(const TagCall& call) {
  const LocalName name = TRY(read_local_name(call.name));
  const std::string path = local_names_file();
  if (path.empty()) return fail(Code::invalid, "there is no home directory: set XDG_DATA_HOME");
  LocalVersion version = TRY(version_of(call.source));
  version.unix_s = unix_seconds();
  TRY(make_folder(default_data_folder()));
  int64_t number = 0;
  const InterruptScope ctrl_c;
  TRY(change_local_names(
      path, [] { return !interrupt_seen(); },
      [&](LocalNames& names) -> Status {
        number = TRY(names.assign(name, version));
        return {};
      }));
  if (call.json) {
    print_json_line(Json{{"name", name.name},
                         {"tag", name.tag},
                         {"version", number},
                         {"sha256", version.sha256},
                         {"source", version.source}});
    return {};
  }
  fmt::print("{}:{} is version {}: {}\nsha256 {}\n", name.name, name.tag, number,
             shown_text(version.source, kWholeText), version.sha256);
  return {};
}

// All names, or the versions of one.
Status list(const TagCall& call) {
  const LocalNames names = TRY(load_local_names(local_names_file()));
  if (!call.source.empty() && names.find(call.source) == nullptr)
    return fail(Code::not_found, "there is no name '{}'", call.source);
  Json models = Json::array();
  for (const LocalModel& model : names.models()) {
    if (!call.source.empty() && model.name != call.source) continue;
    Json versions = Json::array();
    if (!call.json) fmt::print("{}\n", model.name);
    for (const LocalVersion& version : model.versions) {
      versions.push_back(version_line(model, version));
      if (call.json) continue;
      std::string tags;
      for (const Json& tag : *versions[versions.size() - 1].find("tags"))
        tags += " " + tag.get<std::string>();
      fmt::print("  @{:<4} {:%Y-%m-%d %H:%M}  {:.12}  {:>9}  {}{}{}\n", version.number,
                 fmt::gmtime(static_cast<std::time_t>(version.unix_s)), version.sha256,
                 readable_bytes(version.n_bytes), shown_text(version.source, kWholeText),
                 tags.empty() ? "" : " ←", tags);
    }
    models.push_back({{"name", model.name}, {"versions", std::move(versions)}});
  }
  if (call.json) print_json_line(Json{{"models", std::move(models)}});
  return {};
}

}  // namespace

int tag_command(int argc, char** argv) {
  TagCall call;
  CommandLine line("tag", "Gives a model a name with a tag; every assignment stays as a version.");
  line.example("ruvllm tag tuned.gguf writer:canary", "Then --model writer:canary means it");
  line.example("ruvllm tag writer:canary writer:prod", "What was the canary is now in production");
  line.example("ruvllm tag --list writer", "All versions; writer@2 names one of them");
  line.text("source", call.source, "A model, as with --model; with --list the name to list");
  line.text("name", call.name, "NAME or NAME:TAG; the tag is latest when it is absent");
  line.flag("--list", call.list, "List the versions of a name, or of all names");
  line.flag("--json", call.json, "Print one JSON object");
  if (const std::optional<int> code = line.parse(argc, argv)) return *code;
  if (call.list != call.name.empty() || (!call.list && call.source.empty())) {
    return line.wrong_call(call.list ? "--list takes one name"
                                     : "give a model and its name: tag SOURCE NAME[:TAG]");
  }
  const Status status = call.list ? list(call) : assign(call);
  return status.ok() ? kDone : line.failed(status);
}

}  // namespace ruv
