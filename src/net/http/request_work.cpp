#include "net/http/request_work.h"

#include "net/http/server_state.h"

namespace ruv {

RequestWork::RequestWork(ServerState& server, RequestRecord record, std::optional<ApiKey> key,
                         Clock::time_point begun)
    : server_(server), record_(std::move(record)), key_(std::move(key)), begun_(begun) {
  record_.route = "background";
  record_.status = 200;
  server_.works.insert(this);
}

void RequestWork::end(const RequestNotes& notes) {
  record_.notes = notes;
  leave();
  server_.report(record_, key_, begun_);
}

void RequestWork::stop() {
  if (stop_) std::exchange(stop_, nullptr)();
}

void RequestWork::leave() {
  if (std::exchange(is_over_, true)) return;
  stop_ = nullptr;
  server_.works.erase(this);
  server_.note_left();
}

}  // namespace ruv
