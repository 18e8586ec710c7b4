#include "audit/audited_engine.h"

namespace ruv {

// Collects one answer's events. Its copy of the request has what the engine was given; the engine
// moves its own away. Used by the engine's thread only, once submitted.
struct AuditedEngine::Witness {
  FinishedRequest finished;
  std::function<void(const Event&)> on_event;

  // An answer is in the log's queue before its end is reported.
  void see(const Event& event, AuditLog& log) {
    finished.ids.insert(finished.ids.end(), event.ids.begin(), event.ids.end());
    finished.text += event.text;
    if (event.finish != FinishReason::none) end(event, log);
    if (on_event) on_event(event);
  }

  void end(const Event& event, AuditLog& log) {
    finished.unix_ms = unix_milliseconds();
    finished.hidden = event.hidden;
    finished.finish = event.finish;
    finished.timings = event.timings;
    finished.status = event.status;
    finished.request.params.seed = event.seed;
    log.add(std::move(finished));
  }
};

Result<RequestId> AuditedEngine::submit(Request request) {
  const auto witness = std::make_shared<Witness>();
  witness->on_event = std::exchange(request.on_event, nullptr);
  witness->finished.engine = about_;
  witness->finished.adapters = request.adapters.value_or(usual_);
  witness->finished.request = request;
  request.on_event = [witness, &log = log_](const Event& event) { witness->see(event, log); };
  return engine_->submit(std::move(request));
}

}  // namespace ruv
