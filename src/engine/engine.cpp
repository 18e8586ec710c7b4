// Engine::create and names.
#include "ruv/engine.h"

#include <cmath>

#include "base/thread.h"
#include "engine/batch_engine.h"
#include "ruv/stream.h"

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
  if (!kHasThreads) return fail(Code::unsupported, "engine: this system has no threads");
  const EngineOptions complete = TRY(complete_options(options, *model));
  EngineParts parts = TRY(make_parts(*model, complete));
  return std::make_unique<BatchEngine>(std::move(model), complete, std::move(parts));
}

// The length is a sum in the order of the numbers, in double precision: the same on every machine.
Result<std::vector<float>> Engine::embed(std::vector<Token> prompt, const ServiceTerms& terms) {
  Request request;
  request.prompt = std::move(prompt);
  request.terms = terms;
  request.output = RequestOutput::hidden;
  Stream answer = TRY(stream(std::move(request)));
  std::vector<float> vector;
  TRY(answer.collect([&](const Event& event) { vector = event.hidden; }));
  if (vector.empty()) return fail(Code::internal, "the request ended before its vector was there");
  double squares = 0;
  for (const float x : vector) squares += double{x} * double{x};
  if (!(squares > 0)) return vector;
  const double length = std::sqrt(squares);
  for (float& x : vector) x = static_cast<float>(double{x} / length);
  return vector;
}

}  // namespace ruv
