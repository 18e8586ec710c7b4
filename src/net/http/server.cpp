#include "net/http/server.h"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <csignal>
#include <exception>

#include "net/api_error.h"
#include "net/http/connection.h"
#include "net/http/listener.h"
#include "net/http/request_gate.h"
#include "net/http/request_work.h"

namespace ruv {
namespace {

namespace asio = boost::asio;
using boost::system::error_code;

class SocketServer final : public HttpServer {
 public:
  SocketServer(ServerOptions options, std::vector<Route> routes)
      : state_(std::move(options), std::move(routes)),
        listener_(state_.io),
        pause_(state_.io),
        signals_(state_.io),
        reload_signals_(state_.io),
        gate_(state_) {}

  Status listen() {
    const ServerOptions& options = state_.options;
    return options.socket_file.empty() ? listener_.listen_on(options.host, options.port)
                                       : listener_.listen_on_file(options.socket_file);
  }
  uint16_t port() const override { return listener_.port(); }
  void watch_signals() override;
  bool run() override;
  RequestGate& gate() override { return gate_; }
  void stop() override {
    asio::post(state_.io, [this] { begin_stop(); });
  }

 private:
  void start_accepting();
  asio::awaitable<void> accept_all();
  bool make_place();
  void admit(Connection::Socket socket);
  void begin_stop();
  void end_all();
  void wait_for_reload();

  ServerState state_;
  Listener listener_;
  asio::steady_timer pause_;
  asio::signal_set signals_;
  asio::signal_set reload_signals_;
  bool watches_signals_ = false;
  RequestGate gate_;
};

// When all places are taken, closes the connection that has waited longest for a request.
bool SocketServer::make_place() {
  if (static_cast<int64_t>(state_.connections.size()) < state_.options.max_connections) return true;
  if (state_.waiting.empty()) return false;
  state_.waiting.front()->abort();
  return true;
}

// Starts a connection's coroutine; it owns itself until it ends.
void SocketServer::admit(Connection::Socket socket) {
  error_code ignored;
  if (!make_place()) {
    if (state_.options.tls) return;  // an answer would need a handshake
    const std::string bytes = response_bytes(
        error_response({503, "server_error", "too many connections", "", "overloaded"}),
        {.keep_alive = false});
    socket.non_blocking(true, ignored);
    socket.write_some(asio::buffer(bytes), ignored);
    return;
  }
  socket.set_option(asio::ip::tcp::no_delay(true), ignored);  // a socket of a file has no such
  auto connection = std::make_shared<Connection>(std::move(socket), state_);
  asio::co_spawn(state_.io, connection->run(), [this, connection](const std::exception_ptr&) {
    state_.connections.erase(connection.get());
    state_.note_left();
  });
  state_.connections.insert(connection.get());
}

asio::awaitable<void> SocketServer::accept_all() {
  while (!state_.stopping) {
    auto& acceptor = listener_.acceptor();
    auto [error, socket] = co_await acceptor.async_accept(asio::as_tuple(asio::use_awaitable));
    if (!acceptor.is_open()) co_return;
    if (!error) {
      admit(std::move(socket));
      continue;
    }
    // Out of file descriptors, most likely: wait until some are closed.
    pause_.expires_after(std::chrono::milliseconds(100));
    co_await pause_.async_wait(asio::as_tuple(asio::use_awaitable));
  }
}

// What has not ended does so now.
void SocketServer::end_all() {
  const auto works = state_.works;
  for (RequestWork* work : works) work->stop();
  const auto connections = state_.connections;
  for (Connection* connection : connections) connection->abort();
}

// Stops accepting, closes idle connections, and sets the timer for the busy ones.
void SocketServer::begin_stop() {
  if (state_.stopping) return;
  state_.stopping = true;
  error_code ignored;
  listener_.acceptor().close(ignored);
  pause_.cancel();
  state_.memory.stop();
  gate_.begin_stop();
  signals_.cancel(ignored);
  signals_.clear(ignored);
  reload_signals_.cancel(ignored);
  const auto connections = state_.connections;
  for (Connection* connection : connections) connection->stop_when_idle();
  state_.drain.expires_after(state_.options.drain_timeout);
  state_.drain.async_wait([this](const error_code& error) {
    if (!error) end_all();
  });
  state_.note_left();
}

void SocketServer::wait_for_reload() {
  reload_signals_.async_wait([this](const error_code& error, int) {
    if (error || state_.stopping) return;
    ServerOptions& options = state_.options;
    Reloaded reloaded = options.reload();
    if (reloaded.api_keys) options.api_keys = std::move(*reloaded.api_keys);
    if (options.tls && reloaded.tls) options.tls = std::move(reloaded.tls);
    wait_for_reload();
  });
}

// Accepting ends before the server stops only when memory runs out.
void SocketServer::start_accepting() {
  asio::co_spawn(state_.io, accept_all(), [this](const std::exception_ptr& error) {
    if (error && !state_.stopping) start_accepting();
  });
}

void SocketServer::watch_signals() {
  watches_signals_ = true;
  if (!state_.options.stop_on_signals) return;
  signals_.add(SIGINT);
  signals_.add(SIGTERM);
  signals_.async_wait([this](const error_code& error, int) {
    if (!error) begin_stop();
  });
  if (!state_.options.reload) return;
  reload_signals_.add(SIGHUP);
  wait_for_reload();
}

// The network thread's loop.
bool SocketServer::run() {
  if (!watches_signals_) watch_signals();
  start_accepting();
  for (bool running = true; running;) {
    try {
      state_.io.run();
      running = false;
    } catch (const std::exception&) {
      // Memory ran out in a handler: what it held is released, and the others continue.
    }
  }
  return state_.workers.finish(std::chrono::steady_clock::now() + state_.options.worker_timeout);
}

}  // namespace

Result<std::unique_ptr<HttpServer>> HttpServer::create(ServerOptions options,
                                                       std::vector<Route> routes) {
  auto server = std::make_unique<SocketServer>(std::move(options), std::move(routes));
  TRY(server->listen());
  return server;
}

}  // namespace ruv
