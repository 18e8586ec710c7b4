// ruvllm cache: shows what the program keeps on disk, and removes what it can make again.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/json.h"
#include "cache_folder.h"
#include "command_line.h"
#include "commands.h"
#include "consent.h"
#include "data_folder.h"
#include "hub_access.h"
#include "kept_data.h"
#include "nearest_name.h"
#include "open_model.h"
#include "registry_model.h"
#include "settings.h"
#include "terminal.h"

namespace ruv {
namespace {

struct CacheCall {
  std::string action;
  std::vector<std::string> what;
  std::string packed;
  CacheFolder folder;
  bool dry_run = false;
  bool yes = false;
  bool json = false;
};

// As the other subcommands find them.
Result<KeptPlaces> places_of(const CommandLine& line, const CacheCall& call) {
  KeptPlaces places;
  places.packed = call.packed.empty() ? default_packed_cache() : call.packed;
  if (places.packed == "off") places.packed.clear();
  places.cache = call.folder.path.empty() ? default_cache_folder() : call.folder.path;
  places.data = default_data_folder();
  places.config = TRY(Settings::open(line.config_file())).file();
  places.hub = TRY(hub_cache_folder());
  places.ollama = ollama_models_folder().value_or("");
  return places;
}

const char* word_of(Cleaning cleaning) {
  switch (cleaning) {
    case Cleaning::usual:
      return "usual";
    case Cleaning::named:
      return "named";
    case Cleaning::never:
      break;
  }
  return "never";
}

void show(const KeptPlaces& places, bool json) {
  const std::vector<KeptData> all = kept_data(places);
  Json list = Json::array();
  int64_t total = 0;
  for (const KeptData& data : all) {
    total += data.n_bytes;
    list.push_back({{"name", data.name},
                    {"path", data.path},
                    {"n_bytes", data.n_bytes},
                    {"n_files", data.n_files},
                    {"for", data.what},
                    {"clean", word_of(data.cleaning)}});
    if (json) continue;
    fmt::print("{:<10}  {:>9}  {:>6} files  {}\n{:<35}{}\n", data.name,
               readable_bytes(data.n_bytes), data.n_files, data.what, "",
               data.path.empty() ? "nowhere" : data.path);
  }
  if (json) {
    print_json_line(Json{{"kept", std::move(list)}, {"n_bytes", total}});
    return;
  }
  fmt::print(
      "{:<10}  {:>9}\n`ruvllm cache clean` removes packed, prefixes, unfinished and leftovers\n",
      "total", readable_bytes(total));
}

// What is cleaned: what was named, else all that can be made again.
std::vector<std::string> chosen_names(const CacheCall& call, const KeptPlaces& places) {
  if (!call.what.empty()) return call.what;
  std::vector<std::string> names;
  for (const KeptData& data : kept_data(places)) {
    if (data.cleaning == Cleaning::usual) names.push_back(data.name);
  }
  return names;
}

Result<int> clean_all(const CommandLine& line, const CacheCall& call) {
  const KeptPlaces places = TRY(places_of(line, call));
  const std::vector<std::string> names = chosen_names(call, places);
  std::string question;
  for (const std::string& name : names) {
    const CleanedData would = TRY(clean_kept(places, name, true));
    question +=
        fmt::format("{}: {} in {} files\n", name, readable_bytes(would.n_bytes), would.n_files);
  }
  if (!call.dry_run && !has_consent(line, question + "Remove it?", call.yes)) return kJobFailed;
  Json list = Json::array();
  int64_t total = 0;
  for (const std::string& name : names) {
    const CleanedData done = TRY(clean_kept(places, name, call.dry_run));
    total += done.n_bytes;
    Json busy = Json::array();
    for (const std::string& path : done.busy) {
      line.note(fmt::format("{}: a running process uses it; it stays", path));
      busy.push_back(path);
    }
    for (const std::string& why : done.notes) line.note(fmt::format("{}: {}", name, why));
    list.push_back({{"name", name},
                    {"n_bytes", done.n_bytes},
                    {"n_files", done.n_files},
                    {"busy", std::move(busy)}});
    if (!call.json) {
      fmt::print("{}: {} in {} files {}\n", name, readable_bytes(done.n_bytes), done.n_files,
                 call.dry_run ? "would be removed" : "removed");
    }
  }
  if (call.json) {
    print_json_line(
        Json{{"cleaned", std::move(list)}, {"n_bytes", total}, {"dry_run", call.dry_run}});
  }
  return kDone;
}

}  // namespace

int cache_command(int argc, char** argv) {
  CacheCall call;
  CommandLine line("cache",
                   "Shows what the program keeps on disk, and removes what it can make again.");
  line.example("ruvllm cache", "Where it is, how large, and what it is good for");
  line.example("ruvllm cache clean unfinished", "Downloads that ended early");
  const std::string what =
      fmt::format("What to remove: {}; packed, prefixes, unfinished and leftovers when absent",
                  fmt::join(kept_names(), ", "));
  line.text("action", call.action, "clean, or nothing: show it");
  line.choices({"clean"});
  line.words("what", call.what, what.c_str());
  line.flag("--dry-run", call.dry_run, "Only say what would be removed");
  line.flag("--yes,-y", call.yes, "Remove without asking");
  line.flag("--json", call.json, "Print one JSON object");
  line.text("--packed-cache", call.packed,
            "The folder with packed weights; ~/.cache/ruvllm/packed when absent");
  line.text("--cache-dir", call.folder.path,
            "The folder with prefixes, sessions and responses; $XDG_CACHE_HOME/ruvllm or "
            "~/.cache/ruvllm when absent");
  if (const std::optional<int> code = line.parse(argc, argv)) return *code;
  if (!call.action.empty() && call.action != "clean")
    return line.wrong_call(fmt::format("'{}' is not 'clean'", call.action));
  const std::vector<std::string> known = kept_names();
  for (const std::string& name : call.what) {
    if (std::ranges::find(known, name) != known.end()) continue;
    const std::string meant = nearest_name(name, known);
    return line.wrong_call(
        fmt::format("there is no '{}'{}", name,
                    meant.empty() ? "" : fmt::format("; did you mean '{}'?", meant)));
  }
  if (call.action.empty()) {
    const Result<KeptPlaces> places = places_of(line, call);
    if (!places) return line.failed(places.error());
    show(*places, call.json);
    return kDone;
  }
  const Result<int> code = clean_all(line, call);
  return code ? *code : line.failed(code.error());
}

}  // namespace ruv
