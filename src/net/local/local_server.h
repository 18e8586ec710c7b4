// LocalServer: an HTTP server in a thread of its own, of a model that others use, too.
#pragma once

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "net/http/server.h"
#include "net/local/fixed_model.h"
#include "net/local/guest_engine.h"
#include "net/local/local_source.h"

namespace ruv {

class LocalServer {
 public:
  // Serves when it returns. Fails: as HttpServer::create, unavailable (no more threads).
  static Result<std::unique_ptr<LocalServer>> start(const LocalSource& source,
                                                    ServerOptions options);
  // Ends its answers and waits for that.
  ~LocalServer();
  LocalServer(const LocalServer&) = delete;
  LocalServer& operator=(const LocalServer&) = delete;

  uint16_t port() const;

 private:
  // In the order of their beginning; they end in the other order, but for the server itself.
  struct Parts;
  explicit LocalServer(std::unique_ptr<Parts> parts);

  std::unique_ptr<Parts> parts_;
  std::thread thread_;
};

}  // namespace ruv
