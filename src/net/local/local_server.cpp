#include "net/local/local_server.h"

#include <system_error>

#include "net/metrics.h"
#include "net/openai/routes.h"

namespace ruv {

// Events reach the server's replies, so that the guest ends before the server, and `beside` sends
// to it, too.
struct LocalServer::Parts {
  explicit Parts(const LocalSource& source)
      : owner(source.owner),
        guest(std::make_unique<GuestEngine>(*source.engine)),
        service(service_of(source, *guest)) {}
  ~Parts() {
    guest.reset();
    service.beside.reset();
  }

  std::shared_ptr<const void> owner;
  std::unique_ptr<GuestEngine> guest;
  OpenAiService service;
  FixedModel models{service};
  std::unique_ptr<HttpServer> server;
  bool is_idle = true;  // run() says so
};

LocalServer::LocalServer(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}

Result<std::unique_ptr<LocalServer>> LocalServer::start(const LocalSource& source,
                                                        ServerOptions options) {
  auto parts = std::make_unique<Parts>(source);
  options.on_request = [metrics = parts->service.metrics](const RequestRecord& record) {
    metrics->count(record);
  };
  parts->server = TRY(HttpServer::create(std::move(options), api_routes(parts->models)));
  std::unique_ptr<LocalServer> made(new LocalServer(std::move(parts)));
  try {
    made->thread_ =
        std::thread([&served = *made->parts_] { served.is_idle = served.server->run(); });
  } catch (const std::system_error&) {
    return fail(Code::unavailable, "the system gives no thread for the server");
  }
  return made;
}

// Where a worker still waits for a disk, what it uses stays for good.
LocalServer::~LocalServer() {
  if (!thread_.joinable()) return;
  parts_->server->stop();
  thread_.join();
  if (!parts_->is_idle) static_cast<void>(parts_.release());
}

uint16_t LocalServer::port() const { return parts_->server->port(); }

}  // namespace ruv
