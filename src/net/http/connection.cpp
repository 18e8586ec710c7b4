// Beast parses requests; answers are framed by Exchange. Everything here runs on the network
// thread, so nothing is locked. Arguments of awaited calls are named variables: g++ 12 destroys
// temporaries inside a co_await expression twice.
#include "net/http/connection.h"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>

#include "net/api_error.h"

namespace ruv {
namespace {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using boost::system::error_code;
using RequestParser = http::request_parser<http::string_body>;

constexpr auto kAsTuple = asio::as_tuple(asio::use_awaitable);
// What a client may send ahead of the answer it waits for.
constexpr size_t kMaxPipelinedBytes = 64 << 10;
// What is read and thrown away after a refusal, so that the client gets to see it.
constexpr size_t kMaxLingerBytes = 64 << 20;
constexpr std::chrono::milliseconds kLingerTimeout{2'000};

std::string lower_media_type(std::string_view value) {
  std::string type(value.substr(0, value.find(';')));
  while (!type.empty() && (type.back() == ' ' || type.back() == '\t')) type.pop_back();
  for (char& c : type) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  return type;
}

std::string_view view_of(boost::beast::string_view text) { return {text.data(), text.size()}; }

HttpRequest to_request(RequestParser::value_type&& message) {
  HttpRequest request;
  request.method = view_of(message.method_string());
  const std::string_view target = view_of(message.target());
  const size_t question = target.find('?');
  request.path = decode_percent(target.substr(0, question));
  if (question != std::string_view::npos) request.query = target.substr(question + 1);
  request.content_type = lower_media_type(view_of(message[http::field::content_type]));
  request.from_web_page = message.count(http::field::origin) > 0;
  request.authorization = view_of(message[http::field::authorization]);
  request.body = std::move(message.body());
  return request;
}

// The answer to a request that cannot be read; nothing when the connection is just over.
std::optional<HttpResponse> refusal_of(const error_code& error, const ServerOptions& options) {
  if (error == http::error::body_limit) {
    return error_response({413, "invalid_request_error",
                           fmt::format("the body is longer than {} bytes", options.max_body_bytes),
                           "", "body_too_large"});
  }
  if (error == http::error::header_limit || error == http::error::buffer_overflow) {
    return error_response(
        {431, "invalid_request_error",
         fmt::format("the headers are longer than {} bytes", options.max_header_bytes), "",
         "headers_too_large"});
  }
  const bool is_parse_error =
      error.category() == make_error_code(http::error::bad_method).category();
  if (!is_parse_error || error == http::error::end_of_stream ||
      error == http::error::partial_message) {
    return std::nullopt;
  }
  return error_response(bad_request("", "not valid HTTP: " + error.message(), "invalid_http"));
}

}  // namespace

Connection::Connection(asio::ip::tcp::socket socket, ServerState& server)
    : socket_(std::move(socket)),
      server_(server),
      watchdog_(server.io),
      buffer_(server.options.max_header_bytes + kMaxPipelinedBytes + 4096) {}

Connection::~Connection() { server_.body_bytes -= reserved_bytes_; }

void Connection::arm(std::chrono::milliseconds limit) {
  watchdog_.expires_after(limit);
  watchdog_.async_wait([weak = weak_from_this()](const error_code& error) {
    if (error) return;
    if (const auto self = weak.lock()) self->abort();
  });
}

void Connection::disarm() { watchdog_.cancel(); }

void Connection::stop_when_idle() {
  if (idle_) abort();
}

void Connection::abort() {
  error_code ignored;
  socket_.close(ignored);
  if (exchange_) exchange_->disconnect();
}

bool Connection::reserve_body(uint64_t n_bytes) {
  if (server_.body_bytes + n_bytes > server_.options.max_all_bodies_bytes) return false;
  server_.body_bytes += n_bytes;
  reserved_bytes_ = n_bytes;
  return true;
}

asio::awaitable<void> Connection::run() {
  const auto self = shared_from_this();
  while (socket_.is_open()) {
    HttpRequest request;
    const ReadOutcome outcome = co_await read_request(request);
    if (outcome != ReadOutcome::request) break;
    co_await answer(std::move(request));
    if (!framing_.keep_alive || server_.stopping) break;
  }
  disarm();
  error_code ignored;
  socket_.shutdown(asio::ip::tcp::socket::shutdown_both, ignored);
  socket_.close(ignored);
}

asio::awaitable<bool> Connection::read_first_byte() {
  idle_ = true;
  if (buffer_.size() == 0) {
    arm(server_.options.idle_timeout);
    const auto [error, n] = co_await socket_.async_read_some(buffer_.prepare(4096), kAsTuple);
    if (error) co_return false;
    buffer_.commit(n);
  }
  idle_ = false;
  co_return true;
}

asio::awaitable<Connection::ReadOutcome> Connection::read_request(HttpRequest& request) {
  const ServerOptions& options = server_.options;
  if (!co_await read_first_byte()) co_return ReadOutcome::closed;
  RequestParser parser;
  parser.header_limit(options.max_header_bytes);
  parser.body_limit(options.max_body_bytes);

  arm(options.header_timeout);
  auto [error, n] = co_await http::async_read_header(socket_, buffer_, parser, kAsTuple);
  if (!error && !parser.is_done()) {
    const auto length = parser.content_length();
    if (!reserve_body(length ? *length : options.max_body_bytes)) {
      HttpResponse response = error_response(
          {503, "server_error", "too many large requests at once", "", "overloaded"});
      co_await refuse(std::move(response));
      co_return ReadOutcome::refused;
    }
    if (boost::beast::iequals(parser.get()[http::field::expect], "100-continue")) {
      std::string go_on = "HTTP/1.1 100 Continue\r\n\r\n";
      if (!co_await write_all(std::move(go_on))) co_return ReadOutcome::closed;
    }
    arm(options.body_timeout);
    std::tie(error, n) = co_await http::async_read(socket_, buffer_, parser, kAsTuple);
  }
  disarm();
  if (error) {
    if (auto response = refusal_of(error, options)) co_await refuse(std::move(*response));
    co_return ReadOutcome::refused;
  }
  framing_.keep_alive = parser.get().keep_alive() && !server_.stopping;
  framing_.chunked = parser.get().version() >= 11;
  framing_.head_only = parser.get().method() == http::verb::head;
  if (!framing_.chunked) framing_.keep_alive = false;
  request = to_request(parser.release());
  co_return ReadOutcome::request;
}

// Answers a request that was not read to its end, then reads on for a moment: closing a socket
// with unread bytes resets the connection, and the client would not see the answer.
asio::awaitable<void> Connection::refuse(HttpResponse response) {
  std::string bytes = response_bytes(response, {.keep_alive = false});
  if (!co_await write_all(std::move(bytes))) co_return;
  error_code ignored;
  socket_.shutdown(asio::ip::tcp::socket::shutdown_send, ignored);
  arm(kLingerTimeout);
  buffer_.clear();
  for (size_t total = 0; total < kMaxLingerBytes;) {
    const auto [error, n] = co_await socket_.async_read_some(buffer_.prepare(4096), kAsTuple);
    if (error) break;
    total += n;
  }
}

asio::awaitable<void> Connection::answer(HttpRequest request) {
  using asio::experimental::awaitable_operators::operator||;
  exchange_ = std::make_shared<Exchange>(server_.io, server_.options, framing_);
  asio::post(server_.workers, [self = shared_from_this(), exchange = exchange_,
                               request = std::move(request)]() mutable {
    const Router& router = self->server_.router;
    router.dispatch(std::move(request), exchange);
    // The connection must be destroyed on the network thread.
    exchange->post([self = std::move(self)] {
      self->server_.body_bytes -= std::exchange(self->reserved_bytes_, 0);
    });
  });
  co_await (write_answer() || watch_client());
  disarm();
  if (!exchange_->ended() || write_failed_) {
    framing_.keep_alive = false;
    exchange_->disconnect();
  }
  exchange_.reset();
}

// Ends when the client closes its side, or sends far more than one request ahead.
asio::awaitable<void> Connection::watch_client() {
  while (buffer_.size() < kMaxPipelinedBytes) {
    const auto [error, n] = co_await socket_.async_read_some(buffer_.prepare(4096), kAsTuple);
    if (error) co_return;
    buffer_.commit(n);
  }
}

asio::awaitable<void> Connection::write_answer() {
  for (;;) {
    std::string bytes = exchange_->take_queued();
    if (bytes.empty()) {
      if (exchange_->ended()) co_return;
      exchange_->wake().expires_at(asio::steady_timer::time_point::max());
      co_await exchange_->wake().async_wait(kAsTuple);
      continue;
    }
    const bool written = co_await write_all(std::move(bytes));
    exchange_->mark_written();
    if (!written) {
      write_failed_ = true;
      co_return;
    }
  }
}

asio::awaitable<bool> Connection::write_all(std::string bytes) {
  for (size_t at = 0; at < bytes.size();) {
    arm(server_.options.write_timeout);
    const auto [error, n] = co_await socket_.async_write_some(
        asio::buffer(bytes.data() + at, bytes.size() - at), kAsTuple);
    if (error) co_return false;
    at += n;
  }
  disarm();
  co_return true;
}

}  // namespace ruv
