// ruvllm list: the models that are here, by the names that mean them, and short names of others.
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/json.h"
#include "base/tree.h"
#include "command_line.h"
#include "commands.h"
#include "data_folder.h"
#include "hub/cached_models.h"
#include "hub/choose_files.h"
#include "hub/local_names.h"
#include "hub/registry_store.h"
#include "hub_access.h"
#include "known_models.h"
#include "registry_model.h"
#include "shown_text.h"
#include "terminal.h"

namespace ruv {
namespace {

// A line of the table, with what JSON says of it.
struct ListRow {
  std::string name, type, size, revision, where;
  Json json;
};

ListRow hub_row(const CachedModel& model) {
  ListRow row;
  row.name = model.name;
  row.type = model.type.empty() ? "no model" : model.type;
  row.size = readable_bytes(model.n_bytes);
  row.revision = fmt::format("{}{}{:.10}", fmt::join(model.refs, " "),
                             model.refs.empty() ? "" : " ", model.commit);
  row.where = model.path;
  Json refs = Json::array();
  for (const std::string& ref : model.refs) refs.push_back(ref);
  row.json = {{"name", model.name},       {"kind", "hub"},
              {"type", model.type},       {"n_bytes", model.n_bytes},
              {"n_files", model.n_files}, {"path", model.path},
              {"commit", model.commit},   {"refs", std::move(refs)}};
  return row;
}

ListRow local_row(const std::string& name, const LocalVersion& version) {
  ListRow row;
  row.name = name;
  row.type = quant_in_name(version.source.substr(0, version.source.find('@')));
  row.size = readable_bytes(version.n_bytes);
  row.revision = fmt::format("@{} {:%Y-%m-%d}", version.number,
                             fmt::gmtime(static_cast<std::time_t>(version.unix_s)));
  row.where = version.source;
  row.json = {{"name", name},
              {"kind", "local"},
              {"type", row.type},
              {"n_bytes", version.n_bytes},
              {"version", version.number},
              {"time", version.unix_s},
              {"sha256", version.sha256},
              {"source", version.source}};
  return row;
}

// Models in Ollama's folders, those that Ollama has fetched too. What cannot be run is left out.
void add_registry_rows(const RegistryStore& store, std::vector<ListRow>& rows) {
  for (const char* const part : {"manifests", "manifests-v2"}) {
    for (const TreeEntry& entry : files_below(store.folder() + "/" + part)) {
      std::string path = entry.path;
      const size_t slash = path.rfind('/');
      if (slash == path.npos) continue;
      path[slash] = ':';
      const Result<RegistryReference> reference = read_registry_reference(path);
      const Result<StoredModel> model =
          reference ? store.find(*reference) : tl::unexpected(reference.error());
      if (!model) continue;
      const std::string name = text_of(*reference);
      if (std::ranges::find(rows, name, &ListRow::name) != rows.end()) continue;
      const auto n_bytes = static_cast<int64_t>(model->n_bytes);
      rows.push_back({name,
                      "GGUF",
                      readable_bytes(n_bytes),
                      reference->tag,
                      model->path,
                      {{"name", name},
                       {"kind", "registry"},
                       {"type", "GGUF"},
                       {"n_bytes", n_bytes},
                       {"n_files", model->n_layers},
                       {"path", model->path}}});
    }
  }
}

Result<std::vector<ListRow>> rows_here() {
  std::vector<ListRow> rows;
  const std::string names_file = local_names_file();
  const LocalNames names = names_file.empty() ? LocalNames() : TRY(load_local_names(names_file));
  for (const LocalModel& model : names.models()) {
    for (const auto& [tag, number] : model.tags) {
      const auto version = std::ranges::find(model.versions, number, &LocalVersion::number);
      rows.push_back(local_row(model.name + ":" + tag, *version));
    }
  }
  for (const CachedModel& model : cached_models(HubCache(TRY(hub_cache_folder()))))
    rows.push_back(hub_row(model));
  if (const Result<std::string> folder = ollama_models_folder())
    add_registry_rows(RegistryStore(*folder), rows);
  return rows;
}

// Names of files come from hubs.
void print_rows(std::vector<ListRow> rows) {
  rows.insert(rows.begin(), {"name", "type", "size", "revision", "where", {}});
  size_t name = 0, type = 0, size = 0, revision = 0;
  for (ListRow& row : rows) {
    for (std::string* text : {&row.name, &row.revision, &row.where})
      *text = shown_text(*text, kWholeText);
    name = std::max(name, row.name.size());
    type = std::max(type, row.type.size());
    size = std::max(size, row.size.size());
    revision = std::max(revision, row.revision.size());
  }
  for (const ListRow& row : rows) {
    fmt::print("{:<{}}  {:<{}}  {:>{}}  {:<{}}  {}\n", row.name, name, row.type, type, row.size,
               size, row.revision, revision, row.where);
  }
}

void print_known(bool json) {
  Json models = Json::array();
  size_t width = 0;
  for (const KnownModel& model : known_models()) width = std::max(width, model.name.size());
  for (const KnownModel& model : known_models()) {
    if (!json) {
      fmt::print("{:<{}}  {:<24}  hf:{}:{}\n", model.name, width, model.about, model.repo,
                 model.type);
    }
    models.push_back({{"name", std::string(model.name)},
                      {"means", fmt::format("hf:{}:{}", model.repo, model.type)},
                      {"for", std::string(model.about)}});
  }
  if (json) print_json_line(Json{{"models", std::move(models)}});
}

}  // namespace

int list_command(int argc, char** argv) {
  bool json = false;
  bool known = false;
  CommandLine line("list", "Lists the models that are here, by the names that mean them.");
  line.example("ruvllm list", "What was pulled, and what `ruvllm tag` named");
  line.example("ruvllm list --known", "Short names of models that can be fetched");
  line.flag("--known", known, "List the short names that the program knows, and what they mean");
  line.flag("--json", json, "Print one JSON object");
  if (const std::optional<int> code = line.parse(argc, argv)) return *code;
  if (known) {
    print_known(json);
    return kDone;
  }
  Result<std::vector<ListRow>> rows = rows_here();
  if (!rows) return line.failed(rows.error());
  if (!json) {
    if (rows->empty()) line.note("no model is here; `ruvllm pull` fetches one");
    if (!rows->empty()) print_rows(std::move(*rows));
    return kDone;
  }
  Json models = Json::array();
  for (ListRow& row : *rows) models.push_back(std::move(row.json));
  print_json_line(Json{{"models", std::move(models)}});
  return kDone;
}

}  // namespace ruv
