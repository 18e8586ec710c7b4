// Http2Connection: HTTP/2 on the bytes of a connection. nghttp2 reads and writes the frames and
// checks them against RFC 9113; here are the limits of a server that trusts no client, and the
// streams. Used on the network thread.
#pragma once

#include <nghttp2/nghttp2.h>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "net/http/byte_stream.h"
#include "net/http/flood_guard.h"
#include "net/http/frame_scan.h"
#include "net/http/http2_stream.h"

namespace ruv {

struct Http2SessionDeleter {
  void operator()(nghttp2_session* session) const { nghttp2_session_del(session); }
};

class Http2Connection final : public std::enable_shared_from_this<Http2Connection> {
 public:
  using Clock = std::chrono::steady_clock;
  // What the connection is part of.
  struct Owner {
    std::function<void()> abort;          // closes the socket; may be called later than this ends
    std::function<void(bool)> note_idle;  // whether no request is under way
  };

  Http2Connection(ServerState& server, ByteStream& bytes, Owner owner);
  ~Http2Connection() { end_streams(); }
  Http2Connection(const Http2Connection&) = delete;
  Http2Connection& operator=(const Http2Connection&) = delete;

  // Serves until the client, a timeout or the server's stop ends it. `first`: what has been read
  // already, from the client's preface on. True: something was said last that the client should
  // get to see.
  boost::asio::awaitable<bool> run(std::string first);
  // Takes no more requests, and ends after the answers to those that it has.
  void begin_stop();
  // Their clients are gone.
  void end_streams();

  // For the streams.

  // Sends the head of the answer, where there is one, and what follows as the client takes it.
  void push(Http2Stream& stream);
  // The client may send the body.
  void go_on(int32_t id);
  enum class Reset {
    failed,    // the answer breaks off
    gave_up,   // the client does not take it
    unneeded,  // the answer is complete; the rest of the request is not read
  };
  void reset(int32_t id, Reset reason);

 private:
  bool begin();
  boost::asio::awaitable<void> read_frames();
  boost::asio::awaitable<void> write_frames();
  boost::asio::awaitable<bool> write_all(std::string bytes);
  void receive(std::string_view bytes);
  // The next frames to send.
  std::string produce();
  // Ends the connection and says why.
  void fail(uint32_t code);
  bool charge(int64_t cost);
  void wake_writer() { writer_.cancel(); }
  // Sets the timer for what the client has to do next.
  void watch();
  Http2Stream* find(int32_t id) const;

  // What nghttp2 calls; 0 or an error of its own.
  int on_begin_frame(const nghttp2_frame_hd& head);
  int on_begin_headers(const nghttp2_frame& frame);
  int on_header(const nghttp2_frame& frame, std::string_view name, std::string_view value);
  int on_frame(const nghttp2_frame& frame);
  int on_data(int32_t id, std::string_view bytes);
  int on_sent(const nghttp2_frame& frame);
  int on_close(int32_t id);
  static nghttp2_session_callbacks* make_callbacks();
  // What follows the head of an answer, for nghttp2.
  static ssize_t read_answer(Http2Stream& stream, char* room, size_t n_room, uint32_t* flags);

  ServerState& server_;
  ByteStream& bytes_;
  Owner owner_;
  std::unique_ptr<nghttp2_session, Http2SessionDeleter> session_;
  std::map<int32_t, std::shared_ptr<Http2Stream>> streams_;
  // Those whose last byte is in what is being written.
  std::vector<std::shared_ptr<Http2Stream>> ending_;
  FloodGuard flood_;
  boost::asio::steady_timer writer_;  // wakes what writes
  boost::asio::steady_timer write_watch_;
  boost::asio::steady_timer read_watch_;  // for the preface, a head that has begun, an idle client
  enum class Watched { nothing, head, idle };
  Watched watched_ = Watched::nothing;
  FrameScan scan_;
  bool is_idle_ = true;
  int64_t watched_head_ = -1;
  int n_continuations_ = 0;
  bool has_failed_ = false;
  bool is_stopping_ = false;
};

}  // namespace ruv
