// The engine's thread puts events into an inbox that it shares with the stream, so neither has to
// outlive the other. The last event has a place of its own: when memory is out it is the one that
// says so, and a reader would wait for ever if it needed memory too.
#include "ruv/stream.h"

#include <chrono>
#include <deque>
#include <utility>

#include "base/result.h"
#include "base/thread.h"

namespace ruv {
namespace {

constexpr std::chrono::milliseconds kStopPoll{20};

void append(Answer& answer, const Event& event) {
  answer.ids.insert(answer.ids.end(), event.ids.begin(), event.ids.end());
  answer.logprobs.insert(answer.logprobs.end(), event.logprobs.begin(), event.logprobs.end());
  if (!event.prompt_logprobs.empty()) answer.prompt_logprobs = event.prompt_logprobs;
  answer.text += event.text;
  if (event.finish == FinishReason::none) return;
  answer.finish = event.finish;
  answer.timings = event.timings;
  answer.seed = event.seed;
  answer.n_repair_bytes = event.n_repair_bytes;
}

}  // namespace

struct Stream::Inbox {
  Mutex mutex;
  Condition arrived;
  std::deque<Event> events;    // without the last
  std::optional<Event> last;   // until it is taken
  bool finished = false;       // no event will arrive any more
  bool waits_for_end = false;  // the reader wants nothing before

  // The reader is woken when the mutex is free, and not for what it does not want yet.
  void put(const Event& event) {
    {
      const Lock lock(mutex);
      if (event.finish == FinishReason::none) {
        events.push_back(event);
        if (waits_for_end) return;
      } else {
        last = event;
        finished = true;
      }
    }
    arrived.notify_one();
  }
  void wait_for_end() {
    Lock lock(mutex);
    waits_for_end = true;
    arrived.wait(lock, [this] { return finished; });
  }
  bool is_finished() {
    const Lock lock(mutex);
    return finished;
  }
  // Whether there is an event, or none will come, before the time is over.
  bool wait_some_time() {
    Lock lock(mutex);
    return arrived.wait_for(lock, kStopPoll, [this] { return finished || !events.empty(); });
  }
  std::optional<Event> take() {
    Lock lock(mutex);
    arrived.wait(lock, [this] { return finished || !events.empty(); });
    if (events.empty()) return std::exchange(last, std::nullopt);
    std::optional<Event> event = std::move(events.front());
    events.pop_front();
    return event;
  }
};

Stream::Stream(Engine& engine, RequestId id, std::shared_ptr<Inbox> inbox)
    : engine_(&engine), id_(id), inbox_(std::move(inbox)) {}
Stream::Stream(Stream&& other) noexcept = default;
Stream& Stream::operator=(Stream&& other) noexcept {
  std::swap(engine_, other.engine_);
  std::swap(id_, other.id_);
  inbox_.swap(other.inbox_);
  return *this;
}
Stream::~Stream() { cancel(); }

std::optional<Event> Stream::next() { return inbox_ ? inbox_->take() : std::nullopt; }

// An engine that is gone has finished the answer.
void Stream::cancel() {
  if (inbox_ && !inbox_->is_finished()) engine_->cancel(id_);
}

Result<Answer> Stream::collect(const std::function<void(const Event&)>& on_event,
                               const std::function<bool()>& should_stop) {
  Answer answer;
  bool stopped = false;
  if (inbox_ && !on_event && !should_stop) inbox_->wait_for_end();
  while (inbox_) {
    if (should_stop) {
      if (should_stop() && !stopped) {
        stopped = true;
        cancel();
      }
      if (!inbox_->wait_some_time()) continue;
    }
    const std::optional<Event> event = next();
    if (!event) break;
    if (on_event) on_event(*event);
    if (event->finish == FinishReason::error) return tl::unexpected<Status>(event->status);
    append(answer, *event);
  }
  return answer;
}

Result<Stream> Engine::stream(Request request) {
  auto inbox = std::make_shared<Stream::Inbox>();
  request.on_event = [inbox, also = std::move(request.on_event)](const Event& event) {
    if (also) also(event);
    inbox->put(event);
  };
  const RequestId id = TRY(submit(std::move(request)));
  return Stream(*this, id, std::move(inbox));
}

Result<Answer> generate(Engine& engine, std::vector<Token> prompt, const GenerateParams& params,
                        const std::function<void(std::string_view)>& on_text) {
  Stream stream = TRY(engine.stream({.prompt = std::move(prompt), .params = params}));
  if (!on_text) return stream.collect();
  return stream.collect([&](const Event& event) {
    if (!event.text.empty()) on_text(event.text);
  });
}

}  // namespace ruv
