// Exchange: the Reply of one request over a connection. It frames the answer as HTTP/1.1 bytes and
// queues them for the connection to write.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <deque>
#include <string>

#include "net/http/reply.h"
#include "net/http/server.h"

namespace ruv {

// How the client wants to be answered.
struct AnswerFraming {
  bool keep_alive = true;
  bool chunked = true;     // false for HTTP/1.0: the end of the connection ends a stream
  bool head_only = false;  // the request was HEAD
};

class Exchange final : public Reply, public std::enable_shared_from_this<Exchange> {
 public:
  Exchange(boost::asio::io_context& io, const ServerOptions& options, AnswerFraming framing)
      : io_(io), wake_(io), options_(options), framing_(framing) {}

  void post(std::function<void()> work) override;
  void send(HttpResponse response) override;
  void begin_stream() override;
  bool write(std::string bytes) override;
  void write_last(std::string bytes) override;
  void on_disconnect(std::function<void()> action) override;

  // For the connection, on the network thread.

  // Everything queued; empty when nothing is.
  std::string take_queued();
  // take_queued's bytes have been written.
  void mark_written();
  bool ended() const { return ended_; }
  void disconnect();
  // Expires never; cancelled when something is queued or the answer ends.
  boost::asio::steady_timer& wake() { return wake_; }

 private:
  void queue(std::string bytes);
  void end();

  boost::asio::io_context& io_;
  boost::asio::steady_timer wake_;
  const ServerOptions& options_;
  AnswerFraming framing_;
  std::string queued_;
  int64_t n_queued_ = 0;     // writes in queued_
  int64_t n_in_flight_ = 0;  // writes and bytes that the connection took and has not written yet
  int64_t in_flight_bytes_ = 0;
  std::function<void()> on_disconnect_;
  bool begun_ = false;
  bool ended_ = false;
  bool disconnected_ = false;
};

// The whole bytes of a response.
std::string response_bytes(const HttpResponse& response, const AnswerFraming& framing);

}  // namespace ruv
