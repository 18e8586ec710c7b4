#include "tools/mcp/http_transport.h"

#include <algorithm>

#include "tools/cut_text.h"
#include "tools/mcp/json_rpc.h"

namespace ruv {
namespace {

constexpr int64_t kEndMs = 2000;
constexpr int64_t kFirstWaitMs = 1000;
constexpr int64_t kLongestWaitMs = 60'000;
constexpr size_t kMaxSessionBytes = 1024;
constexpr size_t kMaxErrorBytes = 1000;

// Ends an exchange that has given what was wanted.
Status enough() { return {Code::cancelled, "answered"}; }

bool is_of_type(std::string_view content_type, std::string_view wanted) {
  return content_type.substr(0, content_type.find_first_of("; ")) == wanted;
}

// Visible ASCII only, as the protocol wants: nothing that could end a header.
bool is_session_id(std::string_view id) {
  return !id.empty() && id.size() <= kMaxSessionBytes &&
         std::all_of(id.begin(), id.end(), [](char c) { return c > 0x20 && c < 0x7F; });
}

}  // namespace

// Takes the answer to a POST or GET and hands its messages on.
class HttpTransport::AnswerReader {
 public:
  AnswerReader(HttpTransport& transport, std::function<bool()> is_answered)
      : transport_(transport), is_answered_(std::move(is_answered)) {}

  HttpAnswerSink sink() {
    return {[this](const HttpAnswerHead& head) { return begin(head); },
            [this](std::string_view bytes) { return take(bytes); }};
  }
  // Whether the exchange ended because nothing more was wanted.
  bool has_enough() const { return has_enough_; }
  int status() const { return status_; }
  bool is_stream() const { return kind_ == Kind::stream; }
  const SseParser& events() const { return events_; }
  // The whole body, where it is not a stream.
  const std::string& body() const { return body_; }
  bool is_json() const { return kind_ == Kind::json; }

 private:
  enum class Kind { none, json, stream, other };

  Status begin(const HttpAnswerHead& head) {
    status_ = head.status;
    const std::string_view type = head.header("content-type");
    kind_ = Kind::other;
    if (is_of_type(type, "application/json")) kind_ = Kind::json;
    if (is_of_type(type, "text/event-stream") && status_ == 200) kind_ = Kind::stream;
    if (kind_ == Kind::stream && !is_answered_) transport_.listener_->on_hearing();
    const std::string_view session = head.header("mcp-session-id");
    if (session.empty() || status_ != 200) return {};
    if (!is_session_id(session)) return fail(Code::corrupt, "the server's session id is not ASCII");
    const Lock lock(transport_.mutex_);
    transport_.session_ = session;
    return {};
  }

  Status take(std::string_view bytes) {
    if (kind_ == Kind::stream)
      return events_.feed(bytes, [this](const SseEvent& event) { return take_event(event); });
    // Errors quote the beginning of what is not a message.
    const size_t most = kind_ == Kind::json ? kMaxRpcBytes : kMaxErrorBytes;
    if (kind_ == Kind::json && bytes.size() > most - std::min(most, body_.size()))
      return fail(Code::corrupt, "a message of more than {} bytes", most);
    body_.append(bytes.substr(0, most - std::min(most, body_.size())));
    return {};
  }

  // Types other than "message" are not MCP's.
  Status take_event(const SseEvent& event) {
    if (event.type.empty() || event.type == "message") {
      if (!event.data.empty()) transport_.listener_->on_message(event.data);
    }
    has_enough_ = is_answered_ && is_answered_();
    return has_enough_ ? enough() : Status();
  }

  HttpTransport& transport_;
  std::function<bool()> is_answered_;
  Kind kind_ = Kind::none;
  int status_ = 0;
  bool has_enough_ = false;
  SseParser events_{kMaxRpcBytes};
  std::string body_;
};

Status HttpTransport::open(McpListener& listener) {
  listener_ = &listener;
  return HttpClient::check_available();
}

std::vector<std::string> HttpTransport::headers(std::string_view accept) const {
  std::vector<std::string> all = endpoint_.headers;
  all.push_back(fmt::format("Accept: {}", accept));
  const Lock lock(mutex_);
  if (!session_.empty()) all.push_back("Mcp-Session-Id: " + session_);
  if (!revision_.empty()) all.push_back("MCP-Protocol-Version: " + revision_);
  return all;
}

// Answers and what they bring along reach the listener while this waits.
Result<McpSent> HttpTransport::send(std::string_view message, const McpSendTerms& terms) {
  HttpExchange exchange{.method = "POST",
                        .url = endpoint_.url,
                        .headers = headers("application/json, text/event-stream"),
                        .body = std::string(message),
                        .timeout_ms = std::max<int64_t>(1, terms.timeout_ms),
                        .cancellation = terms.cancellation};
  exchange.headers.emplace_back("Content-Type: application/json");
  const bool has_session = [&] {
    const Lock lock(mutex_);
    return !session_.empty();
  }();
  AnswerReader reader(*this, terms.is_answered);
  const Status status = http_.exchange(exchange, reader.sink());
  if (!reader.has_enough()) TRY(status);
  const int code = reader.status();
  if (code == 404 && has_session) return McpSent::session_lost;
  // Some servers give an error's message with a status of its own.
  if (reader.is_json()) {
    if (!reader.body().empty()) listener_->on_message(reader.body());
    if (terms.is_answered && terms.is_answered()) return McpSent::exchanged;
  }
  if (code == 200 || code == 202 || code == 204) return McpSent::exchanged;
  const Code kind = code == 401 || code == 403 ? Code::invalid : Code::unavailable;
  return fail(kind, "{}: status {}{} {}", endpoint_.url, code,
              kind == Code::invalid ? ", not permitted" : "",
              cut_text(reader.body(), kMaxErrorBytes));
}

void HttpTransport::begin_session(std::string_view revision) {
  {
    const Lock lock(mutex_);
    revision_ = revision;
  }
  stop_stream();
  stream_end_ = std::make_unique<Cancellation>();
  // Without a thread, only answers are heard: lists are then those of the beginning.
  (void)start_thread(stream_thread_, [this] { stream(); });
}

void HttpTransport::forget_session() {
  stop_stream();
  const Lock lock(mutex_);
  session_.clear();
  revision_.clear();
}

void HttpTransport::stop_stream() {
  if (stream_end_ != nullptr) {
    stream_end_->cancel();
    const Lock lock(mutex_);
    stream_ends_.notify_all();
  }
  if (stream_thread_.joinable()) stream_thread_.join();
}

// Connects again when the stream ends, as long as the server lets it.
void HttpTransport::stream() {
  std::string last_id;
  int64_t wait_ms = kFirstWaitMs;
  while (stream_once(last_id, wait_ms) == StreamEnd::again) {
    Lock lock(mutex_);
    const auto is_over = [this] { return stream_end_->is_cancelled(); };
    if (stream_ends_.wait_for(lock, std::chrono::milliseconds(wait_ms), is_over)) return;
  }
}

HttpTransport::StreamEnd HttpTransport::stream_once(std::string& last_id, int64_t& wait_ms) {
  HttpExchange exchange{.method = "GET",
                        .url = endpoint_.url,
                        .headers = headers("text/event-stream"),
                        .timeout_ms = 0,
                        .cancellation = stream_end_.get()};
  if (!last_id.empty()) exchange.headers.push_back("Last-Event-ID: " + last_id);
  AnswerReader reader(*this, {});
  const Status status = http_.exchange(exchange, reader.sink());
  if (stream_end_->is_cancelled()) return StreamEnd::over;
  // A server may do without (405); one that has lost the session says so to the next request.
  if (reader.status() != 0 && !reader.is_stream()) return StreamEnd::over;
  if (!status.ok() && status.code() != Code::unavailable) return StreamEnd::over;
  if (is_session_id(reader.events().last_id())) last_id = reader.events().last_id();
  const int64_t asked = reader.events().retry_ms().value_or(kFirstWaitMs);
  wait_ms = status.ok() || reader.is_stream() ? std::clamp<int64_t>(asked, 100, kLongestWaitMs)
                                              : std::min(2 * wait_ms, kLongestWaitMs);
  return StreamEnd::again;
}

void HttpTransport::end_session() {
  {
    const Lock lock(mutex_);
    if (session_.empty()) return;
  }
  // A server that does not let clients end sessions says 405: either way it is over.
  (void)http_.exchange(
      {.method = "DELETE", .url = endpoint_.url, .headers = headers("*/*"), .timeout_ms = kEndMs},
      {[](const HttpAnswerHead&) { return Status(); }, [](std::string_view) { return Status(); }});
}

void HttpTransport::close() {
  if (std::exchange(is_closed_, true)) return;
  stop_stream();
  end_session();
}

}  // namespace ruv
