// RequestWork: what continues for a request after its answer. The server waits for it when it
// stops, as it does for connections.
#pragma once

#include <chrono>
#include <optional>

#include "net/http/api_keys.h"
#include "net/http/detached.h"

namespace ruv {

struct ServerState;

class RequestWork final : public Detached {
 public:
  using Clock = std::chrono::steady_clock;
  // `record`: of the request, whose first byte came at `begun`.
  RequestWork(ServerState& server, RequestRecord record, std::optional<ApiKey> key,
              Clock::time_point begun);
  ~RequestWork() override { leave(); }

  void on_stop(std::function<void()> action) override { stop_ = std::move(action); }
  void end(const RequestNotes& notes) override;
  // For the server: the work is to end now.
  void stop();

 private:
  void leave();

  ServerState& server_;
  RequestRecord record_;
  std::optional<ApiKey> key_;
  Clock::time_point begun_;
  std::function<void()> stop_;
  bool is_over_ = false;
};

}  // namespace ruv
