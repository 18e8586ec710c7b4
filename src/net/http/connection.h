// Connection: one client's socket. Reads requests one after the other and writes their answers;
// while an answer is under way it keeps reading, so that a client that goes away is noticed.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <memory>
#include <optional>
#include <set>

#include "net/http/exchange.h"
#include "net/http/server.h"

namespace ruv {

class Connection;

// What the server and its connections share. Used on the network thread only.
struct ServerState {
  ServerState(ServerOptions server_options, std::vector<Route> routes)
      : options(std::move(server_options)),
        router(std::move(routes), options.api_key),
        workers(static_cast<size_t>(options.n_workers)) {}

  ServerOptions options;
  Router router;
  std::set<Connection*> connections;
  uint64_t body_bytes = 0;  // of bodies being read or parsed
  bool stopping = false;
  // Last, because what still waits in them refers to the members above.
  boost::asio::io_context io{1};
  boost::asio::thread_pool workers;
};

class Connection : public std::enable_shared_from_this<Connection> {
 public:
  Connection(boost::asio::ip::tcp::socket socket, ServerState& server);
  ~Connection();

  // Serves until the client, a timeout or the server's stop ends it.
  boost::asio::awaitable<void> run();
  // Closes now when no request is under way, otherwise after the answer.
  void stop_when_idle();
  // Closes now; a running answer is told that its client is gone.
  void abort();

 private:
  enum class ReadOutcome { request, refused, closed };

  boost::asio::awaitable<ReadOutcome> read_request(HttpRequest& request);
  boost::asio::awaitable<bool> read_first_byte();
  boost::asio::awaitable<void> answer(HttpRequest request);
  boost::asio::awaitable<void> watch_client();
  boost::asio::awaitable<void> write_answer();
  boost::asio::awaitable<bool> write_all(std::string bytes);
  boost::asio::awaitable<void> refuse(HttpResponse response);
  // Closes the socket when `limit` passes before the next arm or disarm.
  void arm(std::chrono::milliseconds limit);
  void disarm();
  bool reserve_body(uint64_t n_bytes);

  boost::asio::ip::tcp::socket socket_;
  ServerState& server_;
  boost::asio::steady_timer watchdog_;
  boost::beast::flat_buffer buffer_;
  std::shared_ptr<Exchange> exchange_;
  uint64_t reserved_bytes_ = 0;
  AnswerFraming framing_;
  bool idle_ = true;
  bool write_failed_ = false;
};

}  // namespace ruv
