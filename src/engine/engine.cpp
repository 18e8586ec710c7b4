// Engine::create, generate() and names.
#include "ruv/engine.h"

#include <condition_variable>
#include <mutex>

#include "engine/batch_engine.h"

namespace ruv {

std::string_view cache_miss_name(CacheMiss miss) {
  switch (miss) {
    case CacheMiss::none:
      return "none";
    case CacheMiss::unknown:
      return "unknown";
    case CacheMiss::diverged:
      return "diverged";
    case CacheMiss::evicted:
      return "evicted";
    case CacheMiss::off:
      return "off";
    case CacheMiss::too_few:
      return "too_few";
  }
  return "unknown";
}

std::string_view finish_reason_name(FinishReason reason) {
  switch (reason) {
    case FinishReason::none:
      return "none";
    case FinishReason::stop:
      return "stop";
    case FinishReason::length:
      return "length";
    case FinishReason::cancelled:
      return "cancelled";
    case FinishReason::error:
      return "error";
  }
  return "unknown";
}

// Chooses sizes, builds the parts, and starts the engine's thread.
Result<std::unique_ptr<Engine>> Engine::create(std::shared_ptr<const Model> model,
                                               const EngineOptions& options) {
  if (model == nullptr) return fail(Code::invalid, "engine: no model given");
  const EngineOptions complete = TRY(complete_options(options, *model));
  EngineParts parts = TRY(make_parts(*model, complete));
  return std::make_unique<BatchEngine>(std::move(model), complete, std::move(parts));
}

Result<Answer> generate(Engine& engine, std::vector<Token> prompt, const GenerateParams& params,
                        const std::function<void(std::string_view)>& on_text) {
  struct Waiting {
    std::mutex mutex;
    std::condition_variable done;
    bool finished = false;
    Answer answer;
    Status status;
  } waiting;
  const auto on_event = [&](const Event& event) {
    if (on_text && !event.text.empty()) on_text(event.text);
    const std::lock_guard lock(waiting.mutex);
    Answer& a = waiting.answer;
    a.ids.insert(a.ids.end(), event.ids.begin(), event.ids.end());
    a.logprobs.insert(a.logprobs.end(), event.logprobs.begin(), event.logprobs.end());
    a.text += event.text;
    if (event.finish == FinishReason::none) return;
    a.finish = event.finish;
    a.timings = event.timings;
    a.seed = event.seed;
    waiting.status = event.status;
    waiting.finished = true;
    waiting.done.notify_one();
  };
  Request request;
  request.prompt = std::move(prompt);
  request.params = params;
  request.on_event = on_event;
  TRY(engine.submit(std::move(request)));
  std::unique_lock lock(waiting.mutex);
  waiting.done.wait(lock, [&] { return waiting.finished; });
  if (!waiting.status.ok()) return tl::unexpected<Status>(waiting.status);
  return std::move(waiting.answer);
}

}  // namespace ruv
