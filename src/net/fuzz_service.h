// For the fuzz targets of the HTTP layer: all routes on an engine that answers within submit() and
// a model whose tokens are bytes, sessions in a folder of their own.
#pragma once

#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "base/check.h"
#include "net/one_model.h"
#include "net/openai/routes.h"
#include "net/openai/sessions.h"
#include "net/scripted_engine.h"

namespace ruv {

// Three tokens for every request.
class InstantEngine final : public Engine {
 public:
  Result<RequestId> submit(Request request) override {
    Event event;
    event.ids = {72, 105, 33};
    event.text = "Hi!";
    if (request.params.n_logprobs >= 0) {
      event.logprobs = {{{72, -1}, {{72, -1}, {105, -2}}}, {{105, -1}, {}}, {{33, -1}, {}}};
    }
    if (request.params.n_prompt_logprobs >= 0) {
      for (size_t i = 1; i < request.prompt.size(); ++i) {
        event.prompt_logprobs.push_back({{request.prompt[i], -1}, {{33, -0.5F}}, 2});
      }
    }
    request.on_event(event);
    Event last;
    last.finish = FinishReason::stop;
    last.timings.n_prompt_tokens = static_cast<int64_t>(request.prompt.size());
    last.timings.n_generated_tokens = 3;
    if (request.output == RequestOutput::hidden) last.hidden = scripted_states(request.prompt);
    request.on_event(last);
    return next_id_++;
  }
  void cancel(RequestId) override {}
  Load load() const override { return {}; }
  KvCacheStats kv_stats() const override { return {}; }
  SpeculativeStats speculative_stats() const override { return {}; }
  const Model& model() const override { std::abort(); }
  int64_t n_ctx() const override { return 200; }

 private:
  RequestId next_id_ = 1;
};

class FuzzService {
 public:
  FuzzService() {
    std::string name = (std::filesystem::temp_directory_path() / "ruv-fuzz-XXXXXX").string();
    CHECK(::mkdtemp(name.data()) != nullptr);
    folder_ = name;
    store_ = *SessionStore::open({.folder = folder_, .max_sessions = 8});
    keeper_ = std::make_unique<SessionKeeper>(*store_);
    service_ = make_service(make_server_parts(), engine_, text_, {"m"});
    service_.sessions = keeper_.get();
    service_.beside = std::make_shared<Workers>(0);
  }
  ~FuzzService() {
    keeper_.reset();
    store_.reset();
    std::filesystem::remove_all(folder_);
  }
  std::vector<Route> routes() { return api_routes(models_); }
  // Does what the service computes beside the engine. False: there is nothing.
  bool run_beside() const { return service_.beside->run_one(); }

 private:
  InstantEngine engine_;
  ByteText text_;
  std::string folder_;
  std::unique_ptr<SessionStore> store_;
  std::unique_ptr<SessionKeeper> keeper_;
  OpenAiService service_;
  OneModel models_{service_};
};

}  // namespace ruv
