// What ruvllm_model_load and ruvllm_server_start take as JSON.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "capi/call_error.h"
#include "net/http/server.h"
#include "ruv/engine.h"

namespace ruv {

// How a model is loaded and computed.
struct LocalModelOptions {
  // Without a draft model, which is loaded first.
  EngineOptions engine = {};
  // Without the callbacks for progress and notes.
  LoadOptions load = {};
  std::string name = {};         // empty: the file's
  std::string draft_model = {};  // empty: none
  // An adapter that requests may name, and its folder or file.
  struct NamedAdapter {
    std::string name, path;
  };
  std::vector<NamedAdapter> adapters = {};
  std::string adapter_folder = {};  // from which requests may load others; empty: none
  int64_t adapter_bytes = 0;        // of adapters in memory, above which some are dropped

  // Whether requests can ever name one: else no memory is kept for them.
  bool has_adapters() const { return !adapters.empty() || !adapter_folder.empty(); }
};

// Null means "{}". Fail: naming the option that is unknown or wrong.
CallResult<LocalModelOptions> read_load_options(const char* json);
CallResult<ServerOptions> read_server_options(const char* json);

}  // namespace ruv
