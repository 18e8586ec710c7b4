// What API routes work with: ServerParts, which all of them share, and OpenAiService, a loaded
// model with the same parts.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "net/api_error.h"
#include "net/http/reply.h"
#include "net/http/workers.h"
#include "net/model_text.h"
#include "ruv/adapter_registry.h"
#include "ruv/engine.h"

namespace ruv {

class AuditLog;
class BackgroundResponses;
class Metrics;
class ResponseStore;
class ServedMemory;
class SessionKeeper;
class Teaching;

// Constant while the server runs.
struct ServerParts {
  int64_t started = 0;  // unix seconds
  std::function<int64_t()> unix_time;
  // 24 characters, different each time. Called on the network thread only.
  std::function<std::string()> unique_name;
  // What the server counts; null: nothing. Used on the network thread only.
  std::shared_ptr<Metrics> metrics = {};
  // Answers that later requests may continue.
  std::shared_ptr<ResponseStore> responses = {};
  // Answers that are made without a client that waits.
  std::shared_ptr<BackgroundResponses> background = {};
  SessionKeeper* sessions = nullptr;  // null: none are kept
  AuditLog* audit = nullptr;          // null: requests are not noted
  ServedMemory* memory = nullptr;     // null: no documents are kept
  // Fields that are unknown or not supported are dropped and named, instead of refused.
  bool lenient = false;
  // Browsers get the page at "/".
  bool has_page = true;
  // What is asked and written is noted, for a log that shows it.
  bool notes_contents = false;
  // A thread for what is computed when the engine is done: neither its thread nor the network's may
  // wait for that.
  std::shared_ptr<Workers> beside = {};
};

// Constant while the model is loaded; `engine` and `text` outlive it.
struct OpenAiService : ServerParts {
  Engine* engine = nullptr;
  const ModelText* text = nullptr;
  // Names of the model: the first appears in answers, requests may use any.
  std::vector<std::string> names;
  int64_t created = 0;        // unix seconds when the model was loaded
  int64_t max_sequences = 0;  // answers that are generated at the same time
  // What requests sample with where they say nothing.
  GenerateParams usual = {};
  AdapterRegistry* adapters = nullptr;  // null: the server keeps none
  Teaching* teaching = nullptr;         // null: nothing is learned
  std::string adapter_folder = {};      // from which clients may load some; empty: none
};

// The system's clock, random names, nothing counted yet.
ServerParts make_server_parts();
OpenAiService make_service(const ServerParts& parts, Engine& engine, const ModelText& text,
                           std::vector<std::string> names);

// Fails: 503 cancelled if the answer is no longer wanted. Routes call it between the parts of their
// work.
ApiResult<void> check_awaited(const HttpRequest& request);

}  // namespace ruv
