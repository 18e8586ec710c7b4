// ModelPool: the models of a server, loaded when they are first asked for and unloaded when others
// need their memory, after a time without requests, or when a client asks for that. One thread
// loads and unloads, one model at a time; which one is next_model_move's choice.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "net/models/served_models.h"

namespace ruv {

// A model in memory; its destructor unloads it. Requires: no request uses it then.
class LoadedModel {
 public:
  virtual ~LoadedModel() = default;
  virtual const OpenAiService& service() const = 0;
  virtual int64_t n_bytes() const = 0;
};

// A model that can be loaded.
struct ModelSource {
  // No other model has any of them. The first model may have none, as its names and info are read
  // when it is loaded; the others have them before.
  std::vector<std::string> names = {};
  ModelInfo info = {};
  int64_t n_bytes = 0;  // what it will take, as far as is known
  // Called by one thread at a time, again after the model was unloaded.
  std::function<Result<std::unique_ptr<LoadedModel>>()> load;
};

struct ModelPoolOptions {
  // Memory of all loaded models together. Lowering it makes models be unloaded for each other more
  // often.
  int64_t max_bytes = INT64_MAX;
  KeepSeconds keep = {};  // of models about which no request says more; none: while there is room
  // Requests that may wait for models; further ones are refused with 429.
  size_t max_waiting = 1024;
  uint64_t max_waiting_bytes = 64 << 20;  // of their bodies
  // Told of each model that was loaded or unloaded, or could not be, by the pool's thread.
  std::function<void(std::string_view)> note = {};
};

class ModelPool final : public ServedModels {
 public:
  // `parts` must outlive the pool and may be completed until load_first() is called.
  ModelPool(const ServerParts& parts, ModelPoolOptions options);
  // As close().
  ~ModelPool() override;

  // Requires: load_first() has not been called.
  void add(ModelSource source);
  // Loads the first model on this thread, calls `use` with it, then begins to serve all and to
  // unload. Fails as loading does.
  Status load_first(const std::function<void(const OpenAiService&)>& use = {});
  // Requests that wait are refused and the work beside ends; then all models are unloaded, which
  // ends the answers that are being generated. A second call does nothing.
  void close();

  const ServerParts& parts() const override { return parts_; }
  std::vector<ModelState> list() const override;
  void with_model(const std::string& name, uint64_t n_bytes, Use use) override;
  ApiResult<ServiceLease> loaded(const std::string& name) const override;
  void unload(const std::string& name, Done done) override;
  void keep(const std::string& name, KeepSeconds seconds) override;

 private:
  enum class LeaseFor;
  struct Entry;
  struct State;

  const ServerParts& parts_;
  std::shared_ptr<State> state_;  // leases have it, too
};

}  // namespace ruv
