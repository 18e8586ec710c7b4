// Connection: one client's socket. It reads requests one after another and writes their answers,
// or leaves both to Http2Connection.
// While an answer is in progress it keeps reading, so that a client that disconnects is noticed.
// Everything runs on the network thread as coroutines; a watchdog timer bounds every wait for the
// client.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <list>
#include <memory>
#include <optional>

#include "net/http/byte_stream.h"
#include "net/http/http2_connection.h"
#include "net/http/received_body.h"
#include "net/http/served_request.h"

namespace ruv {

class Connection final : public std::enable_shared_from_this<Connection> {
 public:
  using Socket = ByteStream::Socket;
  using Clock = std::chrono::steady_clock;

  Connection(Socket socket, ServerState& server);
  ~Connection() { end_waiting(); }

  // Serves until the client, a timeout or the server's stop ends it.
  boost::asio::awaitable<void> run();
  // Closes now when no request is under way, otherwise after the answer.
  void stop_when_idle();
  // Closes now; a running answer learns that its client is gone.
  void abort();

 private:
  using Parser = boost::beast::http::request_parser<ReceivedBody>;
  enum class ReadOutcome { done, refused, closed, http2 };
  // The handshake, where the server speaks TLS. False: it failed.
  boost::asio::awaitable<bool> begin_tls();
  // Reading: the head is checked completely before a byte of the body is read or counted.
  boost::asio::awaitable<ReadOutcome> read_request(IncomingRequest& incoming);
  // Waits for the first byte of a request, up to idle_timeout.
  boost::asio::awaitable<bool> read_first_byte();
  bool has_first_byte();
  // A client may begin with HTTP/2 on a socket without TLS.
  boost::asio::awaitable<ReadOutcome> read_preface();
  boost::asio::awaitable<ReadOutcome> read_head(Parser& parser);
  std::optional<HttpResponse> check_head(size_t n_seen, bool& is_whole) const;
  // Lets Beast parse a complete head; a refusal if it fails.
  std::optional<HttpResponse> parse_head(Parser& parser);
  // Reads the body within max_bytes, counting what has arrived in `incoming.body`.
  boost::asio::awaitable<ReadOutcome> read_body(Parser& parser, uint64_t max_bytes,
                                                IncomingRequest& incoming);
  // Moves what is in the buffer into the body.
  std::optional<HttpResponse> parse_body(Parser& parser, uint64_t max_bytes, BudgetShare& share);
  // False when the client has closed its side or the time is over. A connection that has nothing
  // to read holds no buffer meanwhile.
  boost::asio::awaitable<bool> read_some();
  // Counts what the buffer takes. False: the server's buffers are full.
  bool count_buffer();
  void begin_waiting();
  void end_waiting();
  // How the answer is framed, from the request's version and headers.
  void set_framing(const Parser& parser);
  // Answering: starts the route, then writes what it queues until the answer ends.
  boost::asio::awaitable<void> answer(IncomingRequest incoming);
  // Reads ahead while an answer is in progress, to notice a client that disconnects.
  boost::asio::awaitable<void> watch_client();
  boost::asio::awaitable<void> write_answer();
  boost::asio::awaitable<bool> write_all(std::string bytes);
  // Sends `response`, keeps reading briefly so that the client sees it, and ends the connection.
  boost::asio::awaitable<ReadOutcome> refuse(HttpResponse response);
  // Reads and drops what comes, so that what was written last reaches the client.
  boost::asio::awaitable<void> linger();
  // The rest of the connection is HTTP/2.
  boost::asio::awaitable<void> serve_http2();
  // Ends the read of a request that was begun and not completed.
  boost::asio::awaitable<ReadOutcome> end_of_read();
  // Closes the socket, or only ends the waiting read, if `limit` passes before the next arm or
  // disarm.
  enum class Late { close, end_read };
  void arm(Clock::duration limit, Late late = Late::close);
  void disarm();

  ByteStream stream_;
  ServerState& server_;
  boost::asio::steady_timer watchdog_;
  boost::beast::flat_buffer buffer_;
  std::shared_ptr<Exchange> exchange_;
  AnswerFraming framing_;
  size_t read_bytes_ = 0;  // that the next read asks for
  BudgetShare buffered_;
  std::optional<std::list<Connection*>::iterator> place_;  // in ServerState::waiting
  bool idle_ = true;
  bool late_ = false;                       // the watchdog ended a read
  ServedRequest served_;                    // that is being read or answered
  std::shared_ptr<Http2Connection> http2_;  // null: HTTP/1.1
  bool is_first_ = true;                    // no request has been read
  bool write_failed_ = false;
};

}  // namespace ruv
