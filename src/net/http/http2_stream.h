// Http2Stream: one request of an HTTP/2 connection and its answer. The connection tells what of the
// request has arrived and takes the answer's bytes as the client has room for them; a coroutine
// waits for the body, starts the route and watches the time. Used on the network thread.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>
#include <memory>
#include <string>
#include <string_view>

#include "net/http/http2_head.h"
#include "net/http/served_request.h"

namespace ruv {

class Http2Connection;

class Http2Stream final : public std::enable_shared_from_this<Http2Stream> {
 public:
  using Clock = std::chrono::steady_clock;

  Http2Stream(ServerState& server, Http2Connection& connection, int32_t id);
  ~Http2Stream() { --server_.n_streams; }
  Http2Stream(const Http2Stream&) = delete;
  Http2Stream& operator=(const Http2Stream&) = delete;

  // For the connection, as the request arrives. False: the connection should end.
  bool add_field(std::string_view name, std::string_view value);
  // The head is complete, and the request, too, where `is_end`: starts serve().
  void end_head(bool is_end);
  void add_body(std::string_view bytes);
  void end_body();

  // What the connection takes of the answer.
  struct Taken {
    size_t n = 0;
    bool is_end = false;
    bool is_broken = false;  // the answer cannot be completed
  };
  Taken take(char* room, size_t n_room);
  // The last byte of the answer is on its way to the socket, and has reached it.
  void note_taken() { is_taken_ = true; }
  void note_sent();
  // There is no such stream any more: both sides have ended it, or it was reset.
  void close();
  // Nor a connection that the last bytes could be sent on.
  void lose();
  int32_t id() const { return id_; }
  // The fields of the answer's head, once.
  std::optional<HeaderLines> take_head() { return frames_->take_head(); }
  // The answer has a head and no body.
  bool is_bare() const;

 private:
  boost::asio::awaitable<void> serve();
  boost::asio::awaitable<void> read_body();
  boost::asio::awaitable<void> write_answer();
  boost::asio::awaitable<void> linger();
  // Answers so instead of by the route.
  void refuse(HttpResponse refusal);
  // Bytes of the answer wait for the client.
  bool has_bytes() const;
  // Drops the block that the client has taken. False: it has not.
  bool finish_block();
  // Gives up, as memory is out.
  void break_off();
  void report_unanswered();

  ServerState& server_;
  Http2Connection* connection_;  // null: closed
  int32_t id_;
  Http2Head head_;
  IncomingRequest incoming_;
  ServedRequest served_;
  HeaderLines lines_;  // of every answer
  std::optional<uint64_t> length_;
  bool is_head_method_ = false;
  bool has_head_ = false;
  bool has_ended_ = false;    // the request
  bool has_started_ = false;  // the answer
  uint64_t n_dropped_ = 0;    // bytes of a body that nothing reads
  boost::asio::steady_timer timer_;
  std::shared_ptr<Exchange> exchange_;
  Http2Frames* frames_ = nullptr;  // the exchange's
  std::string block_;              // of the answer, of which `at_` bytes were taken
  size_t at_ = 0;
  bool is_waiting_ = false;  // for the client to take bytes, since moved_at_
  Clock::time_point moved_at_;
  bool is_taken_ = false;
  bool is_sent_ = false;
  bool is_lost_ = false;
  bool is_reported_ = false;
};

}  // namespace ruv
