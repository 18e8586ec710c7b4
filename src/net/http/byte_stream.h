// ByteStream: the bytes of one connection, as the socket has them or by TLS. OpenSSL reads and
// writes the socket itself, through a BIO that never waits and never raises SIGPIPE; where it has
// to wait, the coroutine waits for the socket and asks again. The network thread only, except for
// the steps of a handshake: their arithmetic takes about a millisecond and is done by another
// thread.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <string>
#include <string_view>

#include "net/http/tls_context.h"
#include "net/http/workers.h"

namespace ruv {

class ByteStream {
 public:
  using Socket = boost::asio::generic::stream_protocol::socket;

  explicit ByteStream(Socket socket) : socket_(std::move(socket)) {}

  // From here on the bytes are those inside TLS. `refusal`: the bytes that are sent to a client
  // that speaks HTTP without TLS. False: the stream is of no use. Call it first, once; the stream
  // must live until it has returned.
  boost::asio::awaitable<bool> begin_tls(const TlsContext& context, Workers& handshakes,
                                         std::string refusal);
  bool is_tls() const { return tls_ != nullptr; }
  // The client has chosen HTTP/2 in the handshake.
  bool has_chosen_http2() const;
  bool is_open() const { return socket_.is_open() && !is_closing_; }

  // Waits for bytes to read. False: an error, or the wait was cancelled.
  boost::asio::awaitable<bool> wait_readable();
  // Waits for bytes and puts some into `room`. 0: the client has closed its side, an error, or
  // cancelled.
  boost::asio::awaitable<size_t> read_some(boost::asio::mutable_buffer room);
  // Writes the beginning of `bytes`, which are not empty. 0: an error, or cancelled; nothing more
  // can be written then.
  boost::asio::awaitable<size_t> write_some(std::string_view bytes);
  // Until the connection breaks.
  boost::asio::awaitable<void> wait_broken();
  // Ends what waits.
  void cancel();
  // Tells the client that nothing follows; reading continues.
  void end_writing();
  void close();

 private:
  // What a call of OpenSSL's needs before it can continue.
  enum class Need { nothing, reading, writing, end };
  Need need_of(int result);
  boost::asio::awaitable<bool> wait_for(Need need);
  template <class Call>
  boost::asio::awaitable<size_t> move_bytes(const Call& call);
  void end_tls();
  // One step of the handshake, on a thread of `handshakes`.
  boost::asio::awaitable<int> take_step(Workers& handshakes);

  Socket socket_;
  TlsSession tls_;            // null: without
  bool is_stepping_ = false;  // another thread uses tls_ and the descriptor
  bool is_closing_ = false;   // closed as soon as that has ended
  bool is_broken_ = false;    // TLS failed: nothing more can be read or sent
  bool is_plain_http_ = false;
};

}  // namespace ruv
