// Arguments and results of awaited calls are named variables: see connection.cpp.
#include "net/http/byte_stream.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <sys/socket.h>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/associated_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <cerrno>
#include <memory>

namespace ruv {
namespace {

namespace asio = boost::asio;
using boost::system::error_code;

constexpr auto kWithError = asio::as_tuple(asio::use_awaitable);

int fd_of(BIO* bio) { return static_cast<int>(reinterpret_cast<intptr_t>(BIO_get_data(bio))); }

bool is_waiting() { return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR; }

int bio_write(BIO* bio, const char* bytes, int n) {
  BIO_clear_retry_flags(bio);
  const auto sent = ::send(fd_of(bio), bytes, static_cast<size_t>(n), MSG_NOSIGNAL | MSG_DONTWAIT);
  if (sent < 0 && is_waiting()) BIO_set_retry_write(bio);
  return static_cast<int>(sent);
}

int bio_read(BIO* bio, char* room, int n) {
  BIO_clear_retry_flags(bio);
  const auto got = ::recv(fd_of(bio), room, static_cast<size_t>(n), MSG_DONTWAIT);
  if (got < 0 && is_waiting()) BIO_set_retry_read(bio);
  if (got == 0) BIO_set_flags(bio, BIO_FLAGS_IN_EOF);
  return static_cast<int>(got);
}

// OpenSSL flushes after each message; there is nothing to flush.
long bio_control(BIO* bio, int command, long, void*) {
  if (command == BIO_CTRL_FLUSH) return 1;
  if (command == BIO_CTRL_EOF) return BIO_test_flags(bio, BIO_FLAGS_IN_EOF) != 0 ? 1 : 0;
  return 0;
}

int bio_create(BIO* bio) {
  BIO_set_init(bio, 1);
  return 1;
}

// One for the whole process, which is never freed: connections may end in any order.
const BIO_METHOD* socket_method() {
  static const BIO_METHOD* const method = [] {
    BIO_METHOD* made = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "connection");
    if (made == nullptr) return made;
    BIO_meth_set_write(made, bio_write);
    BIO_meth_set_read(made, bio_read);
    BIO_meth_set_ctrl(made, bio_control);
    BIO_meth_set_create(made, bio_create);
    return made;
  }();
  return method;
}

TlsSession session_on(const TlsContext& context, int fd) {
  TlsSession session = context.new_session();
  const BIO_METHOD* const method = socket_method();
  BIO* const bio = session && method != nullptr ? BIO_new(method) : nullptr;
  if (bio == nullptr) return nullptr;
  BIO_set_data(bio, reinterpret_cast<void*>(static_cast<intptr_t>(fd)));
  SSL_set_bio(session.get(), bio, bio);
  SSL_set_accept_state(session.get());
  return session;
}

bool is_plain_http(unsigned long code) {
  return ERR_GET_LIB(code) == ERR_LIB_SSL && ERR_GET_REASON(code) == SSL_R_HTTP_REQUEST;
}

}  // namespace

// The result of a step and OpenSSL's errors belong to the thread that made it, so it asks there.
asio::awaitable<int> ByteStream::take_step(Workers& handshakes) {
  is_stepping_ = true;
  const int need = co_await asio::async_initiate<const asio::use_awaitable_t<>, void(int)>(
      [this, &handshakes](auto handler) {
        using Handler = decltype(handler);
        auto shared = std::make_shared<Handler>(std::move(handler));
        auto io = asio::get_associated_executor(*shared);
        handshakes.post([this, shared, io, work = asio::make_work_guard(io)] {
          ERR_clear_error();
          const int result = SSL_do_handshake(tls_.get());
          const int need = static_cast<int>(need_of(result));
          asio::post(io, [shared, need] {
            Handler resume = std::move(*shared);
            resume(need);
          });
        });
      },
      asio::use_awaitable);
  is_stepping_ = false;
  if (is_closing_) close();
  co_return need;
}

ByteStream::Need ByteStream::need_of(int result) {
  switch (SSL_get_error(tls_.get(), result)) {
    case SSL_ERROR_NONE:
      return Need::nothing;
    case SSL_ERROR_WANT_READ:
      return Need::reading;
    case SSL_ERROR_WANT_WRITE:
      return Need::writing;
    case SSL_ERROR_ZERO_RETURN:
      return Need::end;
    default:
      break;
  }
  is_broken_ = true;
  is_plain_http_ = is_plain_http(ERR_peek_error());
  return Need::end;
}

asio::awaitable<bool> ByteStream::wait_for(Need need) {
  if (need == Need::end) co_return false;
  const auto kind = need == Need::writing ? Socket::wait_write : Socket::wait_read;
  const auto [error] = co_await socket_.async_wait(kind, kWithError);
  co_return !error;
}

asio::awaitable<bool> ByteStream::begin_tls(const TlsContext& context, Workers& handshakes,
                                            std::string refusal) {
  tls_ = session_on(context, socket_.native_handle());
  if (!tls_) co_return false;
  for (Need need = Need::reading; need != Need::nothing;) {
    const bool is_ready = co_await wait_for(need);
    if (!is_ready) co_return false;
    const int next = co_await take_step(handshakes);
    if (!is_open()) co_return false;
    need = static_cast<Need>(next);
    if (need == Need::end && is_plain_http_) {
      tls_.reset();
      co_await write_some(refusal);
    }
  }
  co_return true;
}

bool ByteStream::has_chosen_http2() const {
  if (!tls_) return false;
  const unsigned char* name = nullptr;
  unsigned n = 0;
  SSL_get0_alpn_selected(tls_.get(), &name, &n);
  return std::string_view(reinterpret_cast<const char*>(name), n) == "h2";
}

asio::awaitable<bool> ByteStream::wait_readable() {
  if (tls_ && SSL_has_pending(tls_.get()) == 1) co_return true;
  const bool is_ready = co_await wait_for(Need::reading);
  co_return is_ready;
}

// Calls OpenSSL until it has moved some bytes. 0: it cannot.
template <class Call>
asio::awaitable<size_t> ByteStream::move_bytes(const Call& call) {
  while (!is_broken_) {
    size_t n = 0;
    ERR_clear_error();
    const int result = call(n);
    if (result == 1) co_return n;
    const Need need = need_of(result);
    const bool is_ready = co_await wait_for(need);
    if (!is_ready) co_return 0;
  }
  co_return 0;
}

asio::awaitable<size_t> ByteStream::read_some(asio::mutable_buffer room) {
  if (!tls_) {
    const auto [error, n] = co_await socket_.async_read_some(room, kWithError);
    co_return error ? 0 : n;
  }
  const auto read = [this, room](size_t& n) {
    return SSL_read_ex(tls_.get(), room.data(), room.size(), &n);
  };
  const size_t n = co_await move_bytes(read);
  co_return n;
}

asio::awaitable<size_t> ByteStream::write_some(std::string_view bytes) {
  if (!tls_) {
    const auto buffer = asio::buffer(bytes.data(), bytes.size());
    const auto [error, n] = co_await socket_.async_write_some(buffer, kWithError);
    co_return error ? 0 : n;
  }
  const auto write = [this, bytes](size_t& n) {
    return SSL_write_ex(tls_.get(), bytes.data(), bytes.size(), &n);
  };
  const size_t n = co_await move_bytes(write);
  co_return n;
}

asio::awaitable<void> ByteStream::wait_broken() {
  co_await socket_.async_wait(Socket::wait_error, kWithError);
}

void ByteStream::cancel() {
  error_code ignored;
  socket_.cancel(ignored);
}

// TLS's own end tells the client that nothing was cut off. Sent once and not waited for.
void ByteStream::end_tls() {
  if (!tls_ || is_broken_ || is_stepping_ || SSL_is_init_finished(tls_.get()) != 1) return;
  ERR_clear_error();
  if ((SSL_get_shutdown(tls_.get()) & SSL_SENT_SHUTDOWN) == 0) SSL_shutdown(tls_.get());
}

void ByteStream::end_writing() {
  end_tls();
  error_code ignored;
  socket_.shutdown(Socket::shutdown_send, ignored);
}

void ByteStream::close() {
  end_tls();
  error_code ignored;
  socket_.shutdown(Socket::shutdown_both, ignored);
  is_closing_ = is_stepping_;
  if (!is_stepping_) socket_.close(ignored);
}

}  // namespace ruv
