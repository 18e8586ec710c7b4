// Stream: one answer as it comes, pulled by the caller; and generate(), which waits for all of it.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ruv/engine.h"

namespace ruv {

// A finished answer.
struct Answer {
  std::vector<Token> ids;
  std::string text;
  std::vector<Event::Logprobs> logprobs;
  std::vector<Event::Logprobs> prompt_logprobs;
  FinishReason finish = FinishReason::none;
  Timings timings;
  uint64_t seed = 0;
  int64_t n_repair_bytes = 0;  // as in the last event
};

// A request that runs. Its events wait here until they are taken, so a slow reader delays no other.
//
//   Stream stream = engine->stream({.prompt = ids}).value();
//   while (auto event = stream.next()) std::cout << event->text;
//
// One thread reads; any other may cancel. May outlive the engine: ~Engine ends the answer. Not for
// the engine's own thread (Request::on_event), where next() would wait for itself.
class Stream {
 public:
  Stream(Stream&& other) noexcept;
  Stream& operator=(Stream&& other) noexcept;
  // Cancels what has not finished. Returns at once.
  ~Stream();

  // Waits for the next event. Nothing after the last one, whose `finish` is not `none`.
  std::optional<Event> next();
  // The rest of the answer has finish `cancelled`, within one step. No effect on a finished one.
  void cancel();

  // Reads to the end. `on_event` sees each event, on the calling thread. `should_stop`, when given,
  // is asked at least every 20 ms, as a signal handler's flag must be; true cancels.
  // Fails: with the status of an answer that ended with `error` (deadline, internal).
  Result<Answer> collect(const std::function<void(const Event&)>& on_event = {},
                         const std::function<bool()>& should_stop = {});

 private:
  friend class Engine;
  struct Inbox;
  Stream(Engine& engine, RequestId id, std::shared_ptr<Inbox> inbox);

  Engine* engine_ = nullptr;
  RequestId id_ = 0;
  std::shared_ptr<Inbox> inbox_;  // null: moved from
};

// Submits and waits. `on_text` sees the text as it comes, on the calling thread. Fails: as
// Engine::submit and Stream::collect.
Result<Answer> generate(Engine& engine, std::vector<Token> prompt, const GenerateParams& params,
                        const std::function<void(std::string_view)>& on_text = {});

}  // namespace ruv
