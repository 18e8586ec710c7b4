// HttpServer: HTTP/1.1 and HTTP/2, over TCP, TLS or a socket in the file system, for a table of
// routes. One network thread reads, writes and runs the replies, and the routes that neither
// compute nor wait; a few worker threads run the other routes.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "net/http/api_keys.h"
#include "net/http/budget.h"
#include "net/http/request_record.h"
#include "net/http/router.h"
#include "net/http/tls_context.h"

namespace ruv {

// What has changed; what is empty here stays as it was. Requests that have begun keep their
// keys, and connections their certificate.
struct Reloaded {
  std::optional<ApiKeys> api_keys;
  std::shared_ptr<const TlsContext> tls;  // only where the server began with one
};

struct ServerOptions {
  std::string host = "127.0.0.1";  // an IPv4 or IPv6 address
  uint16_t port = 8080;            // 0: any free port
  // Listens on this file, which only the server's own user may open, and on no port. Empty: none.
  std::string socket_file = {};
  ApiKeys api_keys = {};  // empty: none is required
  // Speaks HTTPS only. An idle connection then takes some 14 KB more. Null: HTTP.
  std::shared_ptr<const TlsContext> tls = {};
  // Called on the network thread when the system asks for a reload (SIGHUP). Null: none is made.
  std::function<Reloaded()> reload = {};
  int n_workers = 2;
  // Names besides the machine's own under which the server may be called (HostAccess). "*": any.
  std::vector<std::string> allowed_hosts = {};
  // Web pages elsewhere that may read answers (CORS): "https://app.example". "*": any.
  std::vector<std::string> cors_origins = {};
  // Called on the network thread, which waits for it, when a request's answer has ended. Null: no
  // call.
  std::function<void(const RequestRecord&)> on_request = {};
  // Beyond this number a new connection closes the one that has waited longest for a request; if
  // all are busy, the new one is answered 503 and closed. Each takes a file descriptor, and some
  // kilobytes while it is idle.
  int64_t max_connections = 10'240;
  uint64_t max_body_bytes = 8ULL << 20;
  uint32_t max_header_bytes = 64U << 10;
  // Limits for all requests together.
  BudgetLimits budget = {};
  // Limits for what waits for a slow client before its answer is given up. Larger ones tolerate
  // slower clients at the cost of memory.
  int64_t max_queued_writes = 4096;
  int64_t max_queued_bytes = 8LL << 20;
  std::chrono::milliseconds idle_timeout{75'000};    // between requests
  std::chrono::milliseconds header_timeout{10'000};  // from a request's first byte
  // A body must be complete after body_timeout, and after body_grace must have arrived at
  // min_body_rate bytes a second on average.
  std::chrono::milliseconds body_timeout{60'000};
  std::chrono::milliseconds body_grace{10'000};
  int64_t min_body_rate = 16 << 10;
  std::chrono::milliseconds write_timeout{30'000};  // without any progress
  // A stream of events that has nothing to say for this time gets a comment.
  std::chrono::milliseconds heartbeat{15'000};
  // After stop(): answers may finish within drain_timeout, then they are cancelled; workers that
  // are still busy get worker_timeout more.
  std::chrono::milliseconds drain_timeout{5'000};
  std::chrono::milliseconds worker_timeout{700};
  // SIGINT and SIGTERM call stop(); a second one ends the program at once.
  bool stop_on_signals = false;
};

class RequestGate;

// An engine whose events reach this server's replies must be destroyed before the server.
class HttpServer {
 public:
  // Listens at once, so that port() is known. Fails: invalid (address, path), unavailable (port or
  // file in use).
  static Result<std::unique_ptr<HttpServer>> create(ServerOptions options,
                                                    std::vector<Route> routes);
  virtual ~HttpServer() = default;

  virtual uint16_t port() const = 0;
  // By which other transports ask the same routes. It is there as long as the server.
  virtual RequestGate& gate() = 0;
  // From now on the signals of ServerOptions::stop_on_signals do not end the process: run() ends
  // when one came. run() calls it; a program calls it before it says that it serves, and after what
  // a signal should still end at once, such as loading a model. Call it once, or leave it to run().
  virtual void watch_signals() = 0;
  // Serves until stop() and the last connection is closed. Call it once. False: a worker is still
  // busy, for example waiting for a disk that does not answer. The server and everything that
  // routes use must then stay alive: end the process without destroying them.
  [[nodiscard]] virtual bool run() = 0;
  // Any thread.
  virtual void stop() = 0;
};

}  // namespace ruv
