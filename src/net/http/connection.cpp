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
#include "net/http/request_work.h"

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
// Unwanted bodies up to this size are read, so that the connection can continue.
constexpr uint64_t kMaxUnusedBodyBytes = 64 << 10;
// What is read and thrown away after a refusal, so that the client gets to see it.
constexpr size_t kMaxLingerBytes = 16 << 20;
constexpr std::chrono::milliseconds kLingerTimeout{2'000};

std::string_view view_of(const boost::beast::flat_buffer& buffer) {
  return {static_cast<const char*>(buffer.data().data()), buffer.size()};
}

HttpResponse invalid_http(std::string_view reason) {
  return error_response(bad_request("", fmt::format("not valid HTTP: {}", reason), "invalid_http"));
}

HttpResponse long_head(uint32_t max_bytes) {
  return error_response({431, "invalid_request_error",
                         fmt::format("the headers are longer than {} bytes", max_bytes), "",
                         "headers_too_large"});
}

HttpResponse long_body(uint64_t max_bytes) {
  return error_response({413, "invalid_request_error",
                         fmt::format("the body is longer than {} bytes", max_bytes), "",
                         "body_too_large"});
}

constexpr const char* kManyBytes = "too many bytes of unfinished requests at once";

HttpResponse overloaded(std::string message) {
  return error_response({503, "server_error", std::move(message), "", "overloaded"});
}

HttpResponse plain_http() {
  return error_response(bad_request("", "this port is for HTTPS: use https://", "https_required"));
}

HttpResponse too_late() {
  return error_response(
      {408, "invalid_request_error", "the request came too slowly", "", "request_timeout"});
}

HttpResponse over_limit(int64_t wait_seconds) {
  HttpResponse response =
      error_response({429, "rate_limit_error", "the API key has used up its limit for this minute",
                      "", "rate_limit_exceeded"});
  response.headers = {{"Retry-After", fmt::format("{}", wait_seconds)}};
  return response;
}

bool is_token_char(char c) {
  const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
  return letter || std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos;
}

}  // namespace

void ServerState::report(RequestRecord& record, const std::optional<ApiKey>& key,
                         std::chrono::steady_clock::time_point begun) {
  const auto now = std::chrono::steady_clock::now();
  const RequestNotes& used = record.notes;
  if (key) limits.charge(*key, used.n_prompt_tokens + used.n_generated_tokens, now);
  if (!options.on_request) return;
  record.ms = std::chrono::duration<double, std::milli>(now - begun).count();
  options.on_request(record);
}

void ServerState::note_left() {
  if (stopping && connections.empty() && works.empty()) drain.cancel();
}

Connection::Connection(Socket socket, ServerState& server)
    : stream_(std::move(socket)),
      server_(server),
      watchdog_(server.io),
      buffer_(server.options.max_header_bytes + kMaxPipelinedBytes + 2 * kReadBytes),
      buffered_(server.budget, BudgetUse::buffers) {
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
  if (idle_) abort();
}

void Connection::abort() {
  end_waiting();
  stream_.close();
  if (exchange_) exchange_->disconnect();
}

// Reads and answers requests until the connection ends.
asio::awaitable<void> Connection::run() {
  const auto self = shared_from_this();
  const bool is_begun = co_await begin_tls();
  while (is_begun && stream_.is_open()) {
    Incoming incoming(server_.budget);
    const ReadOutcome outcome = co_await read_request(incoming);
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
  begun_ = Clock::now();
  record_ = {};
  key_.reset();
  framing_ = {.keep_alive = false};
  co_return true;
}

asio::awaitable<Connection::ReadOutcome> Connection::end_of_read() {
  if (!late_) {
    report(0, true);
    co_return ReadOutcome::closed;
  }
  late_ = false;
  HttpResponse response = too_late();
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
    refusal = count_buffer() ? check_head(n_seen, is_whole) : overloaded(kManyBytes);
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

// Ids that clients send are kept, so that their logs and ours can be compared.
void Connection::identify(const HttpRequest& request) {
  record_.id = request.id;
  if (record_.id.empty()) record_.id = fmt::format("req-{:016x}", server_.ids.next());
  record_.trace = request.trace;
  record_.method = request.method;
  record_.path = request.path;
  framing_.headers =
      fmt::format("X-Request-Id: {}\r\n{}", record_.id, server_.access.cors_headers(request));
}

void Connection::report(int status, bool is_cut) {
  record_.status = status;
  record_.is_cut = is_cut;
  server_.report(record_, key_, begun_);
}

std::unique_ptr<Detached> Connection::detach() {
  return std::make_unique<RequestWork>(server_, record_, key_, begun_);
}

void Connection::choose(Incoming& incoming) {
  if (const auto access = server_.access.check(incoming.request); !access) {
    incoming.refusal = error_response(access.error());
    return;
  }
  if (server_.access.is_preflight(incoming.request)) {
    incoming.refusal = HttpResponse{};  // the headers say it
    return;
  }
  const ApiKeys& keys = server_.options.api_keys;
  RouteChoice choice = server_.router.choose(incoming.request, keys);
  if (choice.key) {
    key_ = keys[*choice.key];
    if (const auto wait = server_.limits.admit(*key_, Clock::now())) {
      incoming.refusal = over_limit(*wait);
      return;
    }
  }
  incoming.route = choice.route;
  incoming.refusal = std::move(choice.refusal);
}

// The key, the path and all else that the head tells are checked before a byte of the body is read.
asio::awaitable<Connection::ReadOutcome> Connection::read_request(Incoming& incoming) {
  const bool begun = co_await read_first_byte();
  if (!begun) co_return ReadOutcome::closed;
  Parser parser;
  parser.header_limit(server_.options.max_header_bytes);
  parser.body_limit(boost::none);  // read_body has its own
  const ReadOutcome head = co_await read_head(parser);
  end_waiting();
  if (head != ReadOutcome::done) co_return head;
  incoming.request = to_request(parser.get().base());
  set_framing(parser);
  identify(incoming.request);
  choose(incoming);
  if (incoming.route != nullptr) record_.route = incoming.route->path;
  if (parser.is_done()) co_return ReadOutcome::done;

  const uint64_t limit = server_.options.max_body_bytes;
  const bool is_wanted = incoming.route != nullptr && takes_body(*incoming.route);
  const uint64_t max_bytes = is_wanted ? limit : std::min(limit, kMaxUnusedBodyBytes);
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
                                                               Incoming& incoming) {
  const auto start = Clock::now();
  parser.eager(true);
  std::optional<HttpResponse> refusal = parse_body(parser, max_bytes, incoming.body);
  while (!refusal && !parser.is_done()) {
    // Before the clock is set, which must not run out where nothing is being read.
    if (parser.get().body().size() >= kShortBytes) co_await server_.bulk.next();
    const Clock::duration left = start + body_patience(parser.get().body().size()) - Clock::now();
    late_ = left <= Clock::duration::zero();
    bool more = false;
    if (!late_) {
      arm(left, Late::end_read);
      more = co_await read_some();
    }
    if (!more) co_return co_await end_of_read();
    refusal =
        count_buffer() ? parse_body(parser, max_bytes, incoming.body) : overloaded(kManyBytes);
  }
  disarm();
  if (refusal) co_return co_await refuse(std::move(*refusal));
  incoming.request.body = std::move(parser.get().body());
  co_return ReadOutcome::done;
}

// How long after its head a body may take of which n_bytes have come.
Connection::Clock::duration Connection::body_patience(uint64_t n_bytes) const {
  const ServerOptions& options = server_.options;
  const auto by_rate = options.body_grace +
                       std::chrono::seconds(n_bytes / static_cast<uint64_t>(options.min_body_rate));
  return std::min<Clock::duration>(by_rate, options.body_timeout);
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
      return overloaded("no memory left for this request");
    }
    buffer_.consume(n);
    const std::string& body = parser.get().body();
    if (body.size() > max_bytes) return long_body(max_bytes);
    if (!share.resize(body.capacity())) return overloaded("too many large requests at once");
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
  report(response.status, !written);
  if (!written) co_return ReadOutcome::closed;
  stream_.end_writing();
  arm(kLingerTimeout);
  for (size_t total = 0; total < kMaxLingerBytes;) {
    buffer_.clear();
    co_await server_.bulk.next();
    const bool more = co_await read_some();
    if (!more) break;
    total += buffer_.size();
  }
  co_return ReadOutcome::refused;
}

asio::awaitable<void> Connection::answer(Incoming incoming) {
  using asio::experimental::awaitable_operators::operator||;
  exchange_ = std::make_shared<Exchange>(server_.io, server_.options, server_.budget, framing_);
  exchange_->set_host(weak_from_this());
  const uint64_t n_body_bytes = incoming.body.bytes();
  if (incoming.route == nullptr) {
    exchange_->send(std::move(incoming.refusal));
  } else {
    start_route(std::move(incoming));
  }
  co_await (write_answer() || watch_client());
  disarm();
  const bool is_cut = !exchange_->ended() || exchange_->disconnected() || write_failed_;
  if (is_cut) {
    framing_.keep_alive = false;
    exchange_->disconnect();
  }
  record_.notes = std::move(exchange_->notes());
  report(exchange_->status(), is_cut);
  exchange_.reset();
  server_.memory.note_ended(n_body_bytes);
}

// On the network thread or a worker, as the route says.
void Connection::start_route(Incoming incoming) {
  incoming.request.stop = exchange_->stop_token();
  const Route& route = *incoming.route;
  if (route.thread == RouteThread::network) return run_route(route, incoming.request, exchange_);
  auto job = std::make_shared<Incoming>(std::move(incoming));
  server_.workers.post([job, exchange = exchange_, &budget = server_.budget] {
    if (job->request.stop.stop_requested()) return;
    BudgetShare parsing(budget, BudgetUse::parsing);
    if (!parsing.resize(job->request.body.size() * kParseBytesPerBodyByte)) {
      return send_response(exchange, overloaded("too many large requests at once"));
    }
    run_route(*job->route, job->request, exchange);
  });
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
