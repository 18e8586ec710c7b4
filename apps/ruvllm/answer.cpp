// The engine's thread queues events; the calling thread prints, because on_event must return
// quickly and a terminal may block.
#include "answer.h"

#include <fmt/format.h>

#include <condition_variable>
#include <mutex>

#include "base/result.h"
#include "terminal.h"

namespace ruv {
namespace {

class AnswerInbox {
 public:
  void put(const Event& event) {
    const std::lock_guard lock(mutex_);
    events_.push_back(event);
    arrived_.notify_one();
  }
  // What came within 20 ms: signals do not wake a condition variable, so Ctrl-C is polled.
  std::vector<Event> take() {
    std::unique_lock lock(mutex_);
    arrived_.wait_for(lock, std::chrono::milliseconds(20), [this] { return !events_.empty(); });
    return std::exchange(events_, {});
  }

 private:
  std::mutex mutex_;
  std::condition_variable arrived_;
  std::vector<Event> events_;
};

void append(Answer& answer, const Event& event) {
  answer.ids.insert(answer.ids.end(), event.ids.begin(), event.ids.end());
  answer.text += event.text;
  answer.logprobs.insert(answer.logprobs.end(), event.logprobs.begin(), event.logprobs.end());
  if (event.finish == FinishReason::none) return;
  answer.finish = event.finish;
  answer.timings = event.timings;
  answer.seed = event.seed;
}

}  // namespace

Result<Answer> ask(Engine& engine, std::vector<Token> prompt, const GenerateParams& params,
                   const std::function<void(std::string_view)>& on_text) {
  // Shared with the callback: the engine may still hold it when this function has returned.
  const auto inbox = std::make_shared<AnswerInbox>();
  InterruptScope ctrl_c;
  const RequestId id = TRY(engine.submit(
      {std::move(prompt), params, [inbox](const Event& event) { inbox->put(event); }}));
  Answer answer;
  bool cancelled = false;
  while (answer.finish == FinishReason::none) {
    for (const Event& event : inbox->take()) {
      if (event.finish == FinishReason::error) return failure(Status(event.status));
      append(answer, event);
      if (!event.text.empty() && on_text) on_text(event.text);
    }
    if (ctrl_c.interrupted() && !cancelled) {
      engine.cancel(id);
      cancelled = true;
    }
  }
  return answer;
}

std::string speed_line(const Timings& timings) {
  const std::string kept =
      timings.n_cached_tokens > 0 ? fmt::format(" ({} kept)", timings.n_cached_tokens) : "";
  return fmt::format("prompt {} tokens{}, {:.1f} tokens/s; answer {} tokens, {:.1f} tokens/s",
                     timings.n_prompt_tokens, kept, timings.prefill_tokens_per_s,
                     timings.n_generated_tokens, timings.decode_tokens_per_s);
}

}  // namespace ruv
