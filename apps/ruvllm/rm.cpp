// ruvllm rm: removes pulled models from the hub's cache and Ollama's folders, and names that
// `ruvllm tag` gave.
#include <fmt/format.h>

#include <variant>

#include "base/json.h"
#include "command_line.h"
#include "commands.h"
#include "consent.h"
#include "data_folder.h"
#include "hub/hub_removal.h"
#include "hub/registry_removal.h"
#include "hub_access.h"
#include "model_name.h"
#include "registry_model.h"
#include "shown_text.h"
#include "terminal.h"

namespace ruv {
namespace {

// One of the names that were given.
struct Unwanted {
  std::string given = {};
  MeantName meant = {};
  bool all_revisions = false;
};

Result<Unwanted> unwanted(const std::string& name) {
  Unwanted one{.given = name};
  // Without a prefix owner/repo can mean nothing else: paths are not removed here.
  const bool is_repo = name.find('/') != name.npos && !name.starts_with("hf:");
  one.meant = TRY(meant_name(is_repo && !name.starts_with("ollama:") ? "hf:" + name : name));
  one.all_revisions = name.find('@') == name.npos;
  return one;
}

bool continues() { return !interrupt_seen(); }

Result<RegistryStore> ollama_store() { return RegistryStore(TRY(ollama_models_folder())); }

// What goes, in words; fails where nothing would. `names` are those that are left before it.
Result<std::string> described(const HubCache& cache, const Unwanted& one, LocalNames& names) {
  if (one.meant.hub) {
    const HubRemoval removal = TRY(plan_removal(cache, *one.meant.hub, one.all_revisions));
    return fmt::format("{}: {}{}", one.given, readable_bytes(removal.n_bytes),
                       removal.is_whole ? ", all of the repository" : "");
  }
  if (one.meant.registry) {
    const RegistryRemoval removal =
        TRY(plan_registry_removal(TRY(ollama_store()), *one.meant.registry));
    return fmt::format(
        "{}: {}{}", one.given, readable_bytes(removal.n_bytes),
        removal.n_shared == 0
            ? ""
            : fmt::format("; {} layers stay, which other models have too", removal.n_shared));
  }
  const LocalModel* const model = names.find(one.meant.local->name);
  const size_t n_versions = model == nullptr ? 0 : model->versions.size();
  const size_t n_tags = model == nullptr ? 0 : model->tags.size();
  TRY(names.remove(*one.meant.local));
  if (!one.meant.local->is_bare) return fmt::format("{}: the name; its files stay", one.given);
  return fmt::format("{}: the name with {} tags and {} versions; its files stay", one.given, n_tags,
                     n_versions);
}

// Returns the bytes that became free.
Result<int64_t> removed(const HubCache& cache, const Unwanted& one) {
  if (one.meant.hub) {
    // Planned anew: what was removed before it counts.
    const HubRemoval removal = TRY(plan_removal(cache, *one.meant.hub, one.all_revisions));
    TRY(remove_planned(cache, removal, continues));
    return removal.n_bytes;
  }
  if (one.meant.registry)
    return TRY(remove_registry_model(TRY(ollama_store()), *one.meant.registry, continues)).n_bytes;
  TRY(change_local_names(local_names_file(), continues, [&](LocalNames& names) -> Status {
    return names.remove(*one.meant.local);
  }));
  return 0;
}

struct RmCall {
  std::vector<std::string> names;
  bool yes = false;
  bool json = false;
  bool dry_run = false;
};

Result<int> rm(const CommandLine& line, const RmCall& call) {
  const HubCache cache(TRY(hub_cache_folder()));
  const InterruptScope ctrl_c;
  const std::string names_file = local_names_file();
  LocalNames names = names_file.empty() ? LocalNames() : TRY(load_local_names(names_file));
  std::vector<Unwanted> all;
  std::string question;
  for (const std::string& name : call.names) {
    all.push_back(TRY(unwanted(name)));
    question += shown_text(TRY(described(cache, all.back(), names)), kWholeText) + "\n";
  }
  if (call.dry_run) {
    fmt::print("{}", question);
    return kDone;
  }
  if (!has_consent(line, question + "Remove it?", call.yes)) return kJobFailed;
  Json json = Json::array();
  int64_t total = 0;
  for (const Unwanted& one : all) {
    const int64_t n_bytes = TRY(removed(cache, one));
    total += n_bytes;
    json.push_back({{"name", one.given}, {"n_bytes", n_bytes}});
    if (!call.json) {
      fmt::print("{} removed, {} freed\n", shown_text(one.given, kWholeText),
                 readable_bytes(n_bytes));
    }
  }
  if (call.json) print_json_line(Json{{"removed", std::move(json)}, {"n_bytes", total}});
  return kDone;
}

}  // namespace

int rm_command(int argc, char** argv) {
  RmCall call;
  CommandLine line("rm", "Removes pulled models, and names that `ruvllm tag` gave.");
  line.example("ruvllm rm hf:owner/repo:Q8_0", "One file; hf:owner/repo is all of the repository");
  line.example("ruvllm rm ollama:name:1b", "As `ollama rm` does: what other names share stays");
  line.example("ruvllm rm writer:old", "A tag; the file that it meant stays");
  line.words("names", call.names,
             "Names as `ruvllm list` shows them; with @REVISION what a commit has alone");
  line.flag("--yes,-y", call.yes, "Remove without asking");
  line.flag("--dry-run", call.dry_run, "Only say what would be removed");
  line.flag("--json", call.json, "Print one JSON object");
  if (const std::optional<int> code = line.parse(argc, argv)) return *code;
  if (call.names.empty()) return line.wrong_call("name what is to be removed");
  if (call.dry_run && call.json) return line.wrong_call("--dry-run prints no JSON");
  const Result<int> code = rm(line, call);
  return code ? *code : line.failed(code.error());
}

}  // namespace ruv
