#include "capi/local_model.h"

#include <fmt/format.h>

#include "base/json.h"
#include "engine/step_tokens.h"
#include "net/models/model_names.h"
#include "ruv/options.h"

namespace ruv {
namespace {

constexpr size_t kMostNotes = 32;
constexpr int64_t kMaxAdapterRank = 256;  // which a request may compute with

// Null: the files of the model ask for what is not computed.
Json embedding_json(const Result<EmbedInfo>& info) {
  if (!info) return nullptr;
  Json prompts = Json::array();
  for (const auto& [name, text] : info->prompts) prompts.push_back(name);
  return {{"dimensions", info->n_dims},
          {"max_tokens", info->max_tokens},
          {"pooling", pooling_name(info->pooling)},
          {"pooling_is_stated", info->pooling_is_stated},
          {"normalize", info->normalises},
          {"prompts", std::move(prompts)}};
}

}  // namespace

Result<std::shared_ptr<LocalModel>> LocalModel::load(const std::string& path,
                                                     const LocalModelOptions& options,
                                                     std::function<void(double)> progress) {
  std::shared_ptr<LocalModel> made(new LocalModel);
  TRY(made->open(path, options, std::move(progress)));
  return made;
}

// The draft model is loaded as the model is, without a head of its own.
Status LocalModel::open(const std::string& path, const LocalModelOptions& options,
                        std::function<void(double)> progress) {
  LoadOptions load = options.load;
  if (progress) {
    load.progress = [&](LoadStage, double share) { progress(share); };
  }
  load.note = [this](NoteKind, std::string_view text) { note(text); };
  model_ = TRY(load_model(path, load));
  text_ = text_of_model(model_);
  EngineOptions engine = options.engine;
  if (!options.draft_model.empty()) {
    load.progress = nullptr;
    load.draft_head_file.clear();
    engine.draft_model = TRY(load_model(options.draft_model, load));
  }
  engine.max_batch_tokens = step_tokens_for(*model_, engine.n_ctx);
  engine.kv.gate_file = path + ".kv-gate.json";
  engine.kv.note = [this](std::string_view text) { note(text); };
  if (options.has_adapters()) {
    TRY(open_adapters(options));
    engine.max_adapter_rank = kMaxAdapterRank;
  }
  engine_ = TRY(Engine::create(model_, engine));
  if (!engine.kv.disk_folder.empty()) TRY(open_sessions(engine.kv));
  service_ = std::make_unique<LocalService>(
      LocalSource{.engine = engine_.get(),
                  .text = text_.get(),
                  .names = model_names(options.name, path, text_->info()),
                  .usual = recommended_params(text_->info()),
                  .sessions = keeper_.get(),
                  .max_sequences = engine.max_sequences,
                  .adapters = adapters_.get(),
                  .adapter_folder = options.adapter_folder});
  return {};
}

// A name that the model has would hide the adapter, or the adapter the model.
Status LocalModel::open_adapters(const LocalModelOptions& options) {
  adapters_ = std::make_unique<AdapterRegistry>(
      model_, AdapterRegistryOptions{.max_bytes = options.adapter_bytes,
                                     .n_threads = options.load.n_threads});
  for (const auto& [name, path] : options.adapters) {
    const Result<AdapterRecord> loaded = adapters_->load(name, path);
    if (!loaded) {
      return failure(with_context(fmt::format("adapter '{}'", name), loaded.error()));
    }
  }
  return {};
}

// In the folder where the program keeps them.
Status LocalModel::open_sessions(const KvCacheConfig& kv) {
  SessionStore::Options options;
  options.folder = kv.disk_folder + "/sessions";
  options.key = kv.disk_key;
  options.note = [this](std::string_view text) { note(text); };
  sessions_ = TRY(SessionStore::open(std::move(options)));
  keeper_ = std::make_unique<SessionKeeper>(*sessions_);
  return {};
}

// The newest ones are kept.
void LocalModel::note(std::string_view text) {
  const Lock lock(mutex_);
  if (notes_.size() == kMostNotes) notes_.pop_front();
  notes_.emplace_back(text);
}

LocalSource LocalModel::source() const {
  const OpenAiService& service = service_->service();
  return {.owner = shared_from_this(),
          .engine = engine_.get(),
          .text = text_.get(),
          .names = service.names,
          .usual = service.usual,
          .sessions = keeper_.get(),
          .max_sequences = service.max_sequences,
          .adapters = adapters_.get(),
          .adapter_folder = service.adapter_folder};
}

// What a program may want to know before it asks.
std::string LocalModel::info() const {
  const ModelInfo& info = text_->info();
  const AnswerFormat& format = text_->format();
  Json notes = Json::array();
  {
    const Lock lock(mutex_);
    for (const std::string& text : notes_) notes.push_back(text);
  }
  const Json json = {{"name", service_->service().names.front()},
                     {"names", service_->service().names},
                     {"architecture", info.architecture},
                     {"format", info.format},
                     {"isa", info.isa},
                     {"n_params", info.n_params},
                     {"n_layers", info.n_layers},
                     {"n_embd", info.n_embd},
                     {"n_heads", info.n_heads},
                     {"n_kv_heads", info.n_kv_heads},
                     {"n_experts", info.n_experts},
                     {"n_vocab", info.n_vocab},
                     {"n_ctx", engine_->n_ctx()},
                     {"n_ctx_train", info.n_ctx_train},
                     {"max_sequences", service_->service().max_sequences},
                     {"kv_type", kv_type_name(engine_->kv_stats().type)},
                     {"kv_bytes", engine_->kv_stats().memory_bytes},
                     {"weight_bytes", info.weight_bytes},
                     {"has_tokenizer", info.has_tokenizer},
                     {"has_chat_template", info.has_chat_template},
                     {"tools", format.has_calls},
                     {"reasoning", !format.dialect.reasoning.end.empty()},
                     {"sessions", sessions_ != nullptr},
                     {"embedding", embedding_json(text_->embed_info())},
                     {"remarks", info.remarks},
                     {"notes", std::move(notes)}};
  return json.dump();
}

}  // namespace ruv
