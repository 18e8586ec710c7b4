#include "served_model.h"

#include <algorithm>
#include <filesystem>

#include "audit_flags.h"
#include "base/file.h"
#include "engine/step_tokens.h"
#include "model/examine.h"
#include "net/models/model_names.h"
#include "open_engine.h"

namespace ruv {
namespace {

namespace fs = std::filesystem;

// A name as part of a path.
std::string folder_name(std::string name) {
  constexpr std::string_view kPlain =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  for (char& c : name) c = kPlain.find(c) == kPlain.npos ? '_' : c;
  return "model-" + name;
}

// The engine of a model, which may have shapes and no numbers. `folder`: of its pages, below the
// cache folder; empty: that folder itself.
EngineOptions engine_for(const ServedModelCall& call, const Model& model, const std::string& path,
                         const std::string& folder) {
  EngineOptions options = call.engine;
  options.kv.gate_file = gate_file_of(path);
  options.max_batch_tokens = step_tokens_for(model, options.n_ctx);
  if (!folder.empty() && !options.kv.disk_folder.empty()) options.kv.disk_folder += "/" + folder;
  return options;
}

// What it learns is loaded into the registry, from which requests take it by the instance's name.
// Null: the server does not learn.
Result<std::unique_ptr<Learner>> open_learner(const ServedModelCall& call, const std::string& path,
                                              AdapterRegistry& registry) {
  if (call.learn.folder.empty()) return nullptr;
  const auto publish = [&registry](const std::string& name, const std::string& folder) -> Status {
    TRY(registry.load(name, folder, {.may_replace = true}));
    return {};
  };
  return Learner::open(path, TRY(learn_options(call.learn, path, 1)), publish);
}

class EngineModel final : public LoadedModel {
 public:
  // Without names it has those of its file.
  static Result<std::unique_ptr<LoadedModel>> load(const ServedModelCall& call,
                                                   const ServerParts& parts,
                                                   const NamedModel& named,
                                                   std::vector<std::string> names,
                                                   const std::string& folder) {
    auto made = std::make_unique<EngineModel>();
    const std::shared_ptr<const Model> model =
        TRY(open_model(named.chosen, call.engine.n_threads, call.load));
    made->text_ = text_of_model(model);
    EngineOptions options = engine_for(call, *model, named.chosen.path, folder);
    options.draft_model = TRY(open_draft_model(options.n_threads, call.load));
    made->adapters_ = TRY(open_registry(call.adapters, model, options.n_threads, options.adapters));
    made->learner_ = TRY(open_learner(call, named.chosen.path, *made->adapters_));
    options.max_adapter_rank = kMaxServedRank;
    made->engine_ = TRY(Engine::create(model, options));
    if (names.empty()) names = model_names(named.name, named.chosen.path, made->text_->info());
    if (call.audit != nullptr) {
      made->engine_ = TRY(audited_engine(std::move(made->engine_), *call.audit, named.chosen.path,
                                         names.front(), options));
    }
    made->service_ = make_service(parts, *made->engine_, *made->text_, std::move(names));
    made->service_.max_sequences = options.max_sequences;
    made->service_.adapters = made->adapters_.get();
    made->service_.teaching = made->learner_.get();
    made->service_.adapter_folder = call.adapters.folder;
    made->service_.usual = call.line.params_for(made->text_->info(), call.sampling);
    return made;
  }

  const OpenAiService& service() const override { return service_; }
  int64_t n_bytes() const override {
    return text_->info().weight_bytes + engine_->kv_stats().memory_bytes + adapters_->n_bytes();
  }

 private:
  std::unique_ptr<ModelText> text_;
  std::unique_ptr<AdapterRegistry> adapters_;
  std::unique_ptr<Learner> learner_;  // ends before the adapters that it makes
  std::unique_ptr<Engine> engine_;    // ends before the text that its answers are read with
  OpenAiService service_;
};

}  // namespace

Result<NamedModel> named_model(const std::string& text) {
  const size_t equals = text.find('=');
  const bool has_name = equals != 0 && equals != text.npos && !fs::exists(fs::path(text));
  const MeantModel meant = TRY(meant_model(has_name ? text.substr(equals + 1) : text));
  return NamedModel{.chosen = TRY(located(meant)),
                    .name = has_name ? text.substr(0, equals) : meant.served};
}

Result<std::vector<NamedModel>> models_in(const std::string& folder) {
  std::error_code error;
  std::vector<NamedModel> models;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    const fs::path& path = at->path();
    std::error_code ignored;
    const std::string name = path.filename().string();
    const bool is_later_part =
        name.find("-of-") != name.npos && name.find("-00001-of-") == name.npos;
    const bool is_file = at->is_regular_file(ignored) && path.extension() == ".gguf";
    const bool is_folder = at->is_directory(ignored) && fs::exists(path / "config.json", ignored);
    if ((is_file && !is_later_part) || is_folder)
      models.push_back({.chosen = {.path = path.string()}});
  }
  if (error) return fail(Code::not_found, "--models-dir {}: {}", folder, error.message());
  std::ranges::sort(models, {}, [](const NamedModel& model) { return model.chosen.path; });
  return models;
}

ModelSource only_source(const ServedModelCall& call, const ServerParts& parts,
                        const NamedModel& model) {
  ModelSource source;
  source.load = [&call, &parts, model] { return EngineModel::load(call, parts, model, {}, {}); };
  return source;
}

Result<ModelSource> model_source(const ServedModelCall& call, const ServerParts& parts,
                                 const NamedModel& model, bool is_first) {
  LoadOptions options;
  options.ignored_keys = call.load.ignored_keys;
  options.defaults = model.chosen.defaults;
  const ExaminedModel examined = examine_model(model.chosen.path, options);
  if (!examined.faults.empty()) return tl::unexpected(examined.faults.first());
  ModelSource source;
  source.info = model_info(*examined.model);
  source.names = model_names(model.name, model.chosen.path, source.info);
  const std::string folder = is_first ? "" : folder_name(source.names.front());
  const EngineOptions engine = engine_for(call, *examined.model, model.chosen.path, folder);
  source.n_bytes = source.info.weight_bytes + TRY(Engine::kv_bytes(*examined.model, engine));
  source.load = [&call, &parts, model, names = source.names, folder] {
    return EngineModel::load(call, parts, model, names, folder);
  };
  return source;
}

}  // namespace ruv
