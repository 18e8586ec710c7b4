// Beast parses requests; answers are framed by Exchange. Everything here runs on the network
// thread, so nothing is locked. Arguments and results of awaited calls are named variables: g++ 12
// destroys temporaries inside a co_await expression twice, and gets conditions with one wrong.
#include "net/http/connection.h"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <new>

#include "net/api_error.h"
#include "net/http/request_head.h"

namespace ruv {
namespace {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using boost::system::error_code;

constexpr auto kAsTuple = asio::as_tuple(asio::use_awaitable);
// What a read asks for: the first one, and the most. So a buffer is never much larger than what the
// client has sent.
constexpr size_t kFirstReadBytes = 2 << 10;
constexpr size_t kReadBytes = 16 << 10;
// Bodies and answers beyond this take turns with others of the kind.
constexpr size_t kShortBytes = 64 << 10;
// What a client may send ahead of the answer it waits for; more stays in its socket.
constexpr size_t kMaxPipelinedBytes = 64 << 10;
// What is read and thrown away after a refusal, so that the client gets to see it.
constexpr size_t kMaxLingerBytes = 16 << 20;
constexpr std::chrono::milliseconds kLingerTimeout{2'000};

std::string_view view_of(const boost::beast::flat_buffer& buffer) {
  return {static_cast<const char*>(buffer.data().data()), buffer.size()};
}

HttpResponse plain_http() {
  return error_response(bad_request("", "this port is for HTTPS: use https://", "https_required"));
}

bool is_token_char(char c) {
  const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
  return letter || std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos;
}

}  // namespace

Connection::Connection(Socket socket, ServerState& server)
    : stream_(std::move(socket)),
      server_(server),
      watchdog_(server.io),
      buffer_(server.options.max_header_bytes + kMaxPipelinedBytes + 2 * kReadBytes),
      buffered_(server.budget, BudgetUse::buffers),
      served_(server) {
  begin_waiting();
}

void Connection::begin_waiting() {
  if (!place_) place_ = server_.waiting.insert(server_.waiting.end(), this);
}

void Connection::end_waiting() {
  if (place_) server_.waiting.erase(*place_);
  place_.reset();
}

// One timer serves all limits; a new limit replaces the one before.
void Connection::arm(Clock::duration limit, Late late) {
  watchdog_.expires_after(limit);
  watchdog_.async_wait([weak = weak_from_this(), late](const error_code& error) {
    const auto self = weak.lock();
    if (error || !self) return;
    if (late == Late::close) return self->abort();
    self->late_ = true;
    self->stream_.cancel();
  });
}

void Connection::disarm() { watchdog_.cancel(); }

void Connection::stop_when_idle() {
  if (http2_) return http2_->begin_stop();
  if (idle_) abort();
}

void Connection::abort() {
  end_waiting();
  stream_.close();
  if (exchange_) exchange_->disconnect();
  if (http2_) http2_->end_streams();
}

// Reads and answers requests until the connection ends.
asio::awaitable<void> Connection::run() {
  const auto self = shared_from_this();
  const bool is_begun = co_await begin_tls();
  if (is_begun && stream_.has_chosen_http2()) co_await serve_http2();
  while (is_begun && !http2_ && stream_.is_open()) {
    IncomingRequest incoming(server_.budget);
    const ReadOutcome outcome = co_await read_request(incoming);
    if (outcome == ReadOutcome::http2) co_await serve_http2();
    if (outcome != ReadOutcome::done) break;
    co_await answer(std::move(incoming));
    if (!framing_.keep_alive || server_.stopping) break;
  }
  disarm();
  stream_.close();
}

// A handshake has the time that a head has, and may be closed for a new connection as one that
// waits for a request.
asio::awaitable<bool> Connection::begin_tls() {
  const std::shared_ptr<const TlsContext> context = server_.options.tls;
  if (!context) co_return true;
  arm(server_.options.header_timeout);
  std::string refusal = response_bytes(plain_http(), {.keep_alive = false});
  const bool is_begun =
      co_await stream_.begin_tls(*context, server_.handshakes, std::move(refusal));
  disarm();
  co_return is_begun;
}

asio::awaitable<bool> Connection::read_some() {
  if (buffer_.size() == 0) {
    buffer_.shrink_to_fit();
    buffered_.resize(0);
    const bool is_ready = co_await stream_.wait_readable();
    if (!is_ready) co_return false;
  }
  const auto room = buffer_.prepare(read_bytes_);
  const size_t n = co_await stream_.read_some(room);
  if (n == 0) co_return false;
  buffer_.commit(n);
  read_bytes_ = std::min(2 * read_bytes_, kReadBytes);
  co_return true;
}

bool Connection::count_buffer() { return buffered_.resize(buffer_.capacity()); }

// Empty lines before a request are passed over, as RFC 9112 2.2 wants; they do not count as its
// beginning.
bool Connection::has_first_byte() {
  while (view_of(buffer_).starts_with("\r\n")) buffer_.consume(2);
  return buffer_.size() > 0 && view_of(buffer_) != "\r";
}

// An idle connection may be closed to make place for a new one.
asio::awaitable<bool> Connection::read_first_byte() {
  idle_ = true;
  begin_waiting();
  read_bytes_ = kFirstReadBytes;
  arm(server_.options.idle_timeout);
  while (!has_first_byte()) {
    const bool more = co_await read_some();
    if (!more) co_return false;
  }
  idle_ = false;
  served_.begin();
  framing_ = {.keep_alive = false};
  co_return true;
}

asio::awaitable<Connection::ReadOutcome> Connection::end_of_read() {
  if (!late_) {
    served_.report(0, true);
    co_return ReadOutcome::closed;
  }
  late_ = false;
  HttpResponse response = request_too_late();
  co_return co_await refuse(std::move(response));
}

// What is wrong with the head as far as it is here, from byte `n_seen` on. `is_whole`: set when it
// is here to its end.
std::optional<HttpResponse> Connection::check_head(size_t n_seen, bool& is_whole) const {
  const uint32_t max_bytes = server_.options.max_header_bytes;
  const size_t from = n_seen < 3 ? 0 : n_seen - 3;
  const std::string_view text = view_of(buffer_);
  const size_t end = text.find("\r\n\r\n", from);
  is_whole = end != text.npos;
  const std::string_view head = text.substr(0, is_whole ? end + 2 : text.npos);
  if (head.size() > max_bytes) return long_head(max_bytes);
  if (!is_token_char(head[0])) return invalid_http("no method");
  if (const char* fault = head_line_fault(head, from)) return invalid_http(fault);
  return std::nullopt;
}

std::optional<HttpResponse> Connection::parse_head(Parser& parser) {
  error_code error;
  buffer_.consume(parser.put(buffer_.data(), error));
  if (error == http::error::header_limit) return long_head(server_.options.max_header_bytes);
  if (error || !parser.is_header_done()) return invalid_http(error.message());
  if (const auto fault = framing_fault(parser.get().base())) return error_response(*fault);
  return std::nullopt;
}

// Reads until the head is complete or wrong.
asio::awaitable<Connection::ReadOutcome> Connection::read_head(Parser& parser) {
  arm(server_.options.header_timeout, Late::end_read);
  size_t n_seen = 0;
  bool is_whole = false;
  std::optional<HttpResponse> refusal = check_head(n_seen, is_whole);
  while (!refusal && !is_whole) {
    n_seen = buffer_.size();
    const bool more = co_await read_some();
    if (!more) co_return co_await end_of_read();
    refusal = count_buffer() ? check_head(n_seen, is_whole) : server_overloaded(kManyBytes);
  }
  disarm();
  if (!refusal) refusal = parse_head(parser);
  if (!refusal) co_return ReadOutcome::done;
  co_return co_await refuse(std::move(*refusal));
}

void Connection::set_framing(const Parser& parser) {
  const auto& head = parser.get();
  framing_.chunked = head.version() >= 11;
  framing_.keep_alive = framing_.chunked && parser.keep_alive() && !server_.stopping;
  framing_.head_only = head.method() == http::verb::head;
}

// The key, the path and all else that the head tells are checked before a byte of the body is read.
asio::awaitable<Connection::ReadOutcome> Connection::read_request(IncomingRequest& incoming) {
  const bool begun = co_await read_first_byte();
  if (!begun) co_return ReadOutcome::closed;
  if (std::exchange(is_first_, false) && !stream_.is_tls()) {
    const ReadOutcome preface = co_await read_preface();
    if (preface != ReadOutcome::done) co_return preface;
  }
  Parser parser;
  parser.header_limit(server_.options.max_header_bytes);
  parser.body_limit(boost::none);  // read_body has its own
  const ReadOutcome head = co_await read_head(parser);
  end_waiting();
  if (head != ReadOutcome::done) co_return head;
  incoming.request = to_request(parser.get().base());
  set_framing(parser);
  framing_.lines = served_.identify(incoming.request);
  served_.choose(incoming);
  if (parser.is_done()) co_return ReadOutcome::done;

  const uint64_t max_bytes = incoming.max_body_bytes(server_.options);
  const auto length = parser.content_length();
  const bool asks_first = boost::beast::iequals(parser.get()[http::field::expect], "100-continue");
  std::optional<HttpResponse> refusal;
  if (length && *length > max_bytes) refusal = long_body(max_bytes);
  if (incoming.route == nullptr && (refusal || !length || asks_first)) {
    refusal = std::move(incoming.refusal);
  }
  if (refusal) co_return co_await refuse(std::move(*refusal));
  if (asks_first) {
    std::string go_on = "HTTP/1.1 100 Continue\r\n\r\n";
    const bool written = co_await write_all(std::move(go_on));
    if (!written) co_return ReadOutcome::closed;
  }
  co_return co_await read_body(parser, max_bytes, incoming);
}

asio::awaitable<Connection::ReadOutcome> Connection::read_body(Parser& parser, uint64_t max_bytes,
                                                               IncomingRequest& incoming) {
  const auto start = Clock::now();
  parser.eager(true);
  std::optional<HttpResponse> refusal = parse_body(parser, max_bytes, incoming.body);
  while (!refusal && !parser.is_done()) {
    // Before the clock is set, which must not run out where nothing is being read.
    if (parser.get().body().size() >= kShortBytes) co_await server_.bulk.next();
    const uint64_t n_here = parser.get().body().size();
    const Clock::duration left = start + body_patience(server_.options, n_here) - Clock::now();
    late_ = left <= Clock::duration::zero();
    bool more = false;
    if (!late_) {
      arm(left, Late::end_read);
      more = co_await read_some();
    }
    if (!more) co_return co_await end_of_read();
    refusal = count_buffer() ? parse_body(parser, max_bytes, incoming.body)
                             : server_overloaded(kManyBytes);
  }
  disarm();
  if (refusal) co_return co_await refuse(std::move(*refusal));
  incoming.request.body = std::move(parser.get().body());
  co_return ReadOutcome::done;
}

// What is in the buffer, into the body. An answer where the request is wrong or too large.
std::optional<HttpResponse> Connection::parse_body(Parser& parser, uint64_t max_bytes,
                                                   BudgetShare& share) {
  while (buffer_.size() > 0 && !parser.is_done()) {
    error_code error;
    size_t n = 0;
    try {
      n = parser.put(buffer_.data(), error);
    } catch (const std::bad_alloc&) {
      parser.get().body() = {};
      return server_overloaded(kNoMemory);
    }
    buffer_.consume(n);
    const std::string& body = parser.get().body();
    if (body.size() > max_bytes) return long_body(max_bytes);
    if (!share.resize(body.capacity())) return server_overloaded(kManyBodies);
    if (error == http::error::need_more) {
      // The line before a chunk, or what follows the last one.
      if (buffer_.size() > server_.options.max_header_bytes) {
        return long_head(server_.options.max_header_bytes);
      }
      break;
    }
    if (error || n == 0) return invalid_http(error.message());
  }
  return std::nullopt;
}

// Closing a socket with unread bytes resets the connection, and the client would not see the
// answer.
asio::awaitable<Connection::ReadOutcome> Connection::refuse(HttpResponse response) {
  framing_.keep_alive = false;
  std::string bytes = response_bytes(response, framing_);
  const bool written = co_await write_all(std::move(bytes));
  served_.report(response.status, !written);
  if (!written) co_return ReadOutcome::closed;
  co_await linger();
  co_return ReadOutcome::refused;
}

asio::awaitable<void> Connection::linger() {
  stream_.end_writing();
  arm(kLingerTimeout);
  for (size_t total = 0; total < kMaxLingerBytes;) {
    buffer_.clear();
    co_await server_.bulk.next();
    const bool more = co_await read_some();
    if (!more) break;
    total += buffer_.size();
  }
}

// Bytes that only an HTTP/2 client begins with.
asio::awaitable<Connection::ReadOutcome> Connection::read_preface() {
  constexpr std::string_view kPreface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
  if (!kPreface.starts_with(view_of(buffer_).substr(0, kPreface.size()))) {
    co_return ReadOutcome::done;
  }
  arm(server_.options.header_timeout, Late::end_read);
  while (view_of(buffer_).size() < kPreface.size() && kPreface.starts_with(view_of(buffer_))) {
    const bool more = co_await read_some();
    if (!more) co_return co_await end_of_read();
  }
  disarm();
  co_return view_of(buffer_).starts_with(kPreface) ? ReadOutcome::http2 : ReadOutcome::done;
}

asio::awaitable<void> Connection::serve_http2() {
  Http2Connection::Owner owner;
  owner.abort = [weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->abort();
  };
  owner.note_idle = [this](bool is_idle) { is_idle ? begin_waiting() : end_waiting(); };
  http2_ = std::make_shared<Http2Connection>(server_, stream_, std::move(owner));
  std::string first(view_of(buffer_));
  buffer_.clear();
  buffer_.shrink_to_fit();
  buffered_.resize(0);
  const bool has_last_words = co_await http2_->run(std::move(first));
  if (has_last_words && stream_.is_open()) co_await linger();
}

asio::awaitable<void> Connection::answer(IncomingRequest incoming) {
  using asio::experimental::awaitable_operators::operator||;
  exchange_ = std::make_shared<Exchange>(server_.io, server_.options, server_.budget,
                                         std::make_unique<Http1Frames>(framing_));
  exchange_->set_host(std::shared_ptr<DetachHost>(shared_from_this(), &served_));
  served_.start(std::move(incoming), exchange_);
  co_await (write_answer() || watch_client());
  disarm();
  const bool is_cut = !exchange_->ended() || exchange_->disconnected() || write_failed_;
  if (is_cut) {
    framing_.keep_alive = false;
    exchange_->disconnect();
  }
  served_.finish(*exchange_, is_cut);
  exchange_.reset();
}

// Ends when the client closes its side. One that sends far more than a request ahead is left
// waiting until its answer is written, and noticed to be gone only when its connection breaks.
asio::awaitable<void> Connection::watch_client() {
  while (buffer_.size() < kMaxPipelinedBytes && count_buffer()) {
    const bool more = co_await read_some();
    if (!more) co_return;
  }
  co_await stream_.wait_broken();
}

// Writes what the exchange queues, until the answer ends.
asio::awaitable<void> Connection::write_answer() {
  for (size_t n_written = 0;;) {
    if (n_written >= kShortBytes) co_await server_.bulk.next();
    std::string bytes = exchange_->take_queued();
    if (bytes.empty()) {
      if (exchange_->ended() || exchange_->disconnected()) co_return;
      exchange_->wake().expires_after(server_.options.heartbeat);
      const auto [error] = co_await exchange_->wake().async_wait(kAsTuple);
      if (!error) exchange_->beat();
      continue;
    }
    n_written += bytes.size();
    const bool written = co_await write_all(std::move(bytes));
    exchange_->mark_written();
    if (!written) {
      write_failed_ = true;
      co_return;
    }
  }
}

// In pieces, so that large answers take turns.
asio::awaitable<bool> Connection::write_all(std::string bytes) {
  for (size_t at = 0; at < bytes.size();) {
    arm(server_.options.write_timeout);
    if (at > 0) co_await server_.bulk.next();
    const std::string_view piece = std::string_view(bytes).substr(at, kShortBytes);
    const size_t n = co_await stream_.write_some(piece);
    if (n == 0) co_return false;
    at += n;
  }
  disarm();
  co_return true;
}

}  // namespace ruv
