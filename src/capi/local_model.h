// LocalModel: a model with its engine, its sessions and what answers requests of the same process.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/thread.h"
#include "capi/load_options.h"
#include "net/local/local_server.h"
#include "net/local/local_service.h"
#include "net/openai/sessions.h"
#include "ruv/adapter_registry.h"
#include "ruv/engine.h"

namespace ruv {

class LocalModel : public std::enable_shared_from_this<LocalModel> {
 public:
  // Fails: as load_model, Engine::create and SessionStore::open.
  // `path`: a file or a folder; `progress` may be null.
  static Result<std::shared_ptr<LocalModel>> load(const std::string& path,
                                                  const LocalModelOptions& options,
                                                  std::function<void(double)> progress);

  // All of these live as long as this, and any thread may use them.
  const Model& model() const { return *model_; }
  const ModelText& text() const { return *text_; }
  LocalService& service() { return *service_; }
  // It keeps this model.
  LocalSource source() const;
  // A JSON object of what ruvllm_model_info documents.
  std::string info() const;

 private:
  LocalModel() = default;
  // What load() does after it has made this.
  Status open(const std::string& path, const LocalModelOptions& options,
              std::function<void(double)> progress);
  Status open_sessions(const KvCacheConfig& kv);
  // Reads those that the options name, so that a missing one fails the load.
  Status open_adapters(const LocalModelOptions& options);
  // Any thread.
  void note(std::string_view text);

  mutable Mutex mutex_;            // guards notes_
  std::deque<std::string> notes_;  // what was done, and what went wrong without failing
  std::shared_ptr<const Model> model_;
  std::unique_ptr<ModelText> text_;
  std::unique_ptr<SessionStore> sessions_;
  std::unique_ptr<AdapterRegistry> adapters_;  // null: none can be named
  // They end in the order in which their last works come: the engine's events, then what waits for
  // the disk, then what is computed beside.
  std::unique_ptr<LocalService> service_;
  std::unique_ptr<SessionKeeper> keeper_;
  std::unique_ptr<Engine> engine_;
};

}  // namespace ruv
