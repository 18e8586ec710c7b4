// For the fuzz targets of what connections carry: the real connection and all routes, asked over a
// pair of sockets. The server must have ended the connection when the client has closed it: nothing
// may wait for a clock. Nothing of the requests may stay in the budget.
#pragma once

#include <sys/socket.h>

#include <boost/asio/co_spawn.hpp>
#include <random>
#include <string>
#include <string_view>

#include "net/fuzz_service.h"
#include "net/http/connection.h"

namespace ruv {

// The type and flags with which an answer over HTTP/2 begins, after its length.
inline constexpr std::string_view kHttp2Settings("\0\0\x18\4\0", 5);

class FuzzConnection {
 public:
  FuzzConnection()
      : state_({.api_keys = ApiKeys("key"), .n_workers = 0, .max_body_bytes = 4096},
               service_.routes()) {}

  // What the server answers to a client that sends `bytes`, in pieces by `seed`, and closes.
  std::string converse(std::string_view bytes, unsigned seed) {
    int ends[2];
    CHECK(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends) == 0);
    client_ = ends[1];
    bool ended = false;
    {
      const boost::asio::generic::stream_protocol protocol(AF_UNIX, 0);
      auto connection =
          std::make_shared<Connection>(Connection::Socket(state_.io, protocol, ends[0]), state_);
      boost::asio::co_spawn(state_.io, connection->run(),
                            [&ended, connection](const std::exception_ptr& error) {
                              CHECK(!error);
                              ended = true;
                            });
    }
    std::minstd_rand random(seed);
    while (!bytes.empty()) {
      const size_t n = seed == 0 ? bytes.size() : 1 + random() % 400;
      const std::string_view piece = bytes.substr(0, n);
      if (::send(client_, piece.data(), piece.size(), MSG_NOSIGNAL) <= 0) break;
      bytes.remove_prefix(piece.size());
      settle();
    }
    settle();
    ::close(client_);
    client_ = -1;
    settle();
    CHECK(ended);
    for (const auto use : {BudgetUse::bodies, BudgetUse::parsing, BudgetUse::answers}) {
      CHECK(state_.budget.taken(use) == 0);
    }
    CHECK(state_.n_streams == 0);
    return std::exchange(answers_, {});
  }

 private:
  // Until nothing is left to do but to wait for the client.
  void settle() {
    for (bool more = true; more;) {
      state_.io.restart();
      more = state_.io.poll() > 0;
      more = state_.workers.run_one() || more;
      more = service_.run_beside() || more;
      char bytes[16384];
      for (ssize_t n = 0; client_ >= 0 && (n = ::recv(client_, bytes, sizeof bytes, 0)) > 0;) {
        answers_.append(bytes, static_cast<size_t>(n));
        more = true;
      }
    }
  }

  FuzzService service_;
  ServerState state_;
  int client_ = -1;
  std::string answers_;
};

}  // namespace ruv
