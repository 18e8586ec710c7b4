// ruvllm pull: fetches a model by its name into the folders that other programs share.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/json.h"
#include "command_line.h"
#include "commands.h"
#include "model_defaults.h"
#include "model_name.h"
#include "registry_model.h"
#include "shown_text.h"
#include "terminal.h"

namespace ruv {
namespace {

Result<FetchedModel> fetch(const std::string& name, const RemoteCall& call) {
  const MeantName meant = TRY(meant_remote(name));
  if (meant.registry) return fetch_registry_model(*meant.registry, call);
  return FetchedModel{.pulled = TRY(fetch_remote(*meant.hub, call))};
}

// What of a registry's layers has an effect, and what has none.
void note_layers(const CommandLine& line, const FetchedModel& fetched) {
  const std::string used = defaults_text(fetched.defaults);
  if (!used.empty()) line.note("its defaults: " + used);
  if (fetched.unused.empty()) return;
  const std::string unused = fmt::format("{}", fmt::join(fetched.unused, "; "));
  line.note("not used: " + shown_text(unused, kWholeText));
}

}  // namespace

int pull_command(int argc, char** argv) {
  std::string name;
  RemoteCall call;
  bool json = false;
  CommandLine line("pull", "Fetches a model from a hub, or continues where that was interrupted.");
  line.text("model", name,
            "owner/repo, with :FILE or :Q8_0 to choose, @REVISION for a commit; "
            "ollama:NAME[:TAG] of Ollama's registry; a short name of `ruvllm list --known`");
  line.integer("--connections", call.connections, 1, 16, "Ranges that are fetched at a time");
  line.flag("--progress", call.progress_lines,
            "Print lines of progress where there is no terminal");
  line.flag("--json", json, "Print one JSON object");
  line.example("ruvllm pull qwen3-0.6b", "By the short name of a well-known model");
  line.example("ruvllm pull owner/repo:Q8_0", "One type of quantisation, with all its parts");
  line.example("ruvllm pull ollama:name:1b", "A model that Ollama has, in its own folders");
  if (const std::optional<int> code = line.parse(argc, argv)) return *code;
  if (name.empty()) return line.wrong_call("name a model: owner/repo, ollama:NAME or a short name");
  const Result<FetchedModel> fetched = fetch(name, call);
  if (!fetched) return line.failed(fetched.error());
  const PulledModel* const model = &fetched->pulled;
  note_layers(line, *fetched);
  if (json) {
    print_json_line({{"model", name},
                     {"path", model->path},
                     {"commit", model->commit},
                     {"n_files", model->n_files},
                     {"n_bytes", model->n_bytes},
                     {"n_fetched", model->n_fetched}});
    return kDone;
  }
  fmt::print(
      "{}\n{} in {} file{}, {}\n", model->path,
      readable_bytes(static_cast<int64_t>(model->n_bytes)), model->n_files,
      model->n_files == 1 ? "" : "s",
      model->n_fetched == 0
          ? "all of it was here"
          : fmt::format("{} fetched", readable_bytes(static_cast<int64_t>(model->n_fetched))));
  return kDone;
}

}  // namespace ruv
