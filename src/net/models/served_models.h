// ServedModels: the models that a server offers, and the way from the "model" of a request to a
// loaded one.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "net/http/reply.h"
#include "net/openai/service.h"

namespace ruv {

// A loaded model. It stays loaded as long as this is held; destroying it may be done on any thread
// and does not wait.
using ServiceLease = std::shared_ptr<const OpenAiService>;

// Where a model is between a file and an engine. `failed`: the last try to load it.
enum class ModelPhase { unloaded, loading, loaded, unloading, failed };
std::string_view phase_name(ModelPhase phase);

// A model as lists show it.
struct ModelState {
  std::vector<std::string> names;  // the first appears in answers
  ModelPhase phase = ModelPhase::unloaded;
  ModelInfo info;       // what its file says
  int64_t created = 0;  // unix seconds when it was loaded, else when the server started
  int64_t n_bytes =
      0;  // of its weights, keys and values, and activations; an estimate until loaded
  int64_t n_users = 0;  // requests that use it or wait for it
  // Unix seconds when it is unloaded unless a request comes; none: it stays.
  std::optional<int64_t> expires = {};
  std::string failure = {};  // of the last try to load it
};

// How long a model stays loaded after the last request that used it; none: as the server says.
// Negative: for good.
using KeepSeconds = std::optional<int64_t>;

// All functions may be called from any thread, and none waits for a model.
class ServedModels {
 public:
  virtual ~ServedModels() = default;

  virtual const ServerParts& parts() const = 0;
  // At least one; the first is the one that requests without a name mean.
  virtual std::vector<ModelState> list() const = 0;

  using Use = std::function<void(ApiResult<ServiceLease>)>;
  // Calls `use` with the model of that name, at once where it is loaded, else on another thread
  // when it is; empty: the first model. `n_bytes`: of the request, which waits meanwhile. Fails, by
  // calling `use`: 404 model_not_found, 503 where it cannot be loaded, 429 where too much waits.
  virtual void with_model(const std::string& name, uint64_t n_bytes, Use use) = 0;
  // The same without loading it. Fails: 404 model_not_found, 503 model_not_loaded.
  virtual ApiResult<ServiceLease> loaded(const std::string& name) const = 0;
  // Unloads the model when no request uses it any more, and calls `done` then. Fails, by calling
  // `done`: 404 model_not_found.
  using Done = std::function<void(ApiResult<void>)>;
  virtual void unload(const std::string& name, Done done) = 0;
  // From now on for this model. An unknown name says nothing.
  virtual void keep(const std::string& name, KeepSeconds seconds) = 0;
};

// Whether a request that says `name` means a model of these names. Ollama's clients add ":latest".
bool is_named(const std::vector<std::string>& names, std::string_view name);
// The model that the query of a path names, as "?model=name"; empty: none.
std::string asked_in_query(const HttpRequest& request);
// 404 model_not_found, with the names that there are.
ApiError no_such_model(std::string_view name, const std::vector<ModelState>& models);

}  // namespace ruv
