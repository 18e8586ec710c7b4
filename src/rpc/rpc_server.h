// RpcServer: gRPC for the routes of an HttpServer, on a port of its own (proto/ruvllm/v1). Health
// and reflection, too, which ask for no key. Only builds with RUV_GRPC have it.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/result.h"
#include "net/http/server.h"

namespace ruv {

struct RpcOptions {
  std::string host = "127.0.0.1";  // an IPv4 or IPv6 address
  uint16_t port = 50051;           // 0: any free port
  TlsFiles tls = {};               // read once. Empty: no TLS
  // Whether requests are taken now, as the health service says it. Called on the network thread.
  std::function<bool()> is_ready = {};
  int64_t max_calls = 1024;       // at the same time; further ones are refused
  int max_calls_of_client = 128;  // of one connection; further ones wait at the client
};

class RpcServer {
 public:
  // Listens at once; calls are begun when `server` runs. Limits of messages, times and memory are
  // those of `options`, which `server` was made with. Fails: unavailable (the port is in use).
  static Result<std::unique_ptr<RpcServer>> create(HttpServer& server, const ServerOptions& options,
                                                   RpcOptions rpc);
  // Before `server` is destroyed, and when its run() has returned or was never called: ends the
  // calls that there are.
  virtual ~RpcServer() = default;

  // The one that was taken.
  virtual uint16_t port() const = 0;
};

}  // namespace ruv
