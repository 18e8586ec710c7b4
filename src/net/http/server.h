// HttpServer: HTTP/1.1 over TCP for a table of routes. One network thread reads, writes and runs
// the replies; a few worker threads run the routes' parsing.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "net/http/router.h"

namespace ruv {

struct ServerOptions {
  std::string host = "127.0.0.1";  // an IPv4 or IPv6 address
  uint16_t port = 8080;            // 0: any free port
  std::string api_key = {};        // empty: none is asked for
  int n_workers = 2;
  // One connection more is answered 503 and closed.
  int64_t max_connections = 512;
  uint64_t max_body_bytes = 32ULL << 20;
  uint32_t max_header_bytes = 64U << 10;
  // Bodies being read or parsed at the same time; a request that does not fit is answered 503.
  uint64_t max_all_bodies_bytes = 256ULL << 20;
  // What may wait for a client that reads slowly before its answer is given up.
  int64_t max_queued_writes = 4096;
  int64_t max_queued_bytes = 8LL << 20;
  std::chrono::milliseconds idle_timeout{75'000};    // between requests
  std::chrono::milliseconds header_timeout{10'000};  // from a request's first byte
  std::chrono::milliseconds body_timeout{60'000};
  std::chrono::milliseconds write_timeout{30'000};  // without any progress
  // After stop(): answers may finish for this long, then they are cancelled.
  std::chrono::milliseconds drain_timeout{5'000};
  // SIGINT and SIGTERM call stop(); a second one ends the program at once.
  bool stop_on_signals = false;
};

// An engine whose events reach this server's replies must be destroyed before the server.
class HttpServer {
 public:
  // Listens at once, so that port() is known. Fails: invalid (address), unavailable (port in use).
  static Result<std::unique_ptr<HttpServer>> create(ServerOptions options,
                                                    std::vector<Route> routes);
  virtual ~HttpServer() = default;

  virtual uint16_t port() const = 0;
  // Serves until stop() and the last connection is closed. Call it once.
  virtual void run() = 0;
  // Any thread.
  virtual void stop() = 0;
};

}  // namespace ruv
