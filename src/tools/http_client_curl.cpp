// libcurl's part of http_client.h. Each exchange has a "multi" of its own, which waits on the
// connection and can be woken for a cancellation; it also keeps the connection for later.
#ifdef RUV_HAS_CURL
#include <curl/curl.h>

#include <algorithm>
#include <optional>

#include "base/clock.h"
#include "base/once.h"
#include "tools/http_client.h"

namespace ruv {
namespace {

constexpr size_t kMaxHeaderBytes = 64 << 10;
constexpr size_t kMaxIdleWires = 8;
constexpr long kConnectMs = 10'000;
constexpr int kPollMs = 60'000;
constexpr long kReceiveBytes = 256 << 10;

Once g_curl_once;

struct CurlListFree {
  void operator()(curl_slist* list) const { curl_slist_free_all(list); }
};
using CurlList = std::unique_ptr<curl_slist, CurlListFree>;

// What libcurl's callbacks need, and the reason why one of them stopped it.
struct AnswerInProgress {
  const HttpAnswerSink& sink;
  HttpAnswerHead head = {};
  size_t header_bytes = 0;
  bool has_head = false;
  Status failure = {};
  uint64_t n_sent = 0;  // of exchange.body_part
};

std::string_view trimmed(std::string_view text) {
  const size_t begin = text.find_first_not_of(" \t\r\n");
  if (begin == text.npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t\r\n") - begin + 1);
}

// "Name: value" with the name in lower case; a status line begins anew, as after an interim answer.
void take_header_line(AnswerInProgress& answer, std::string_view line) {
  if (line.starts_with("HTTP/")) {  // of an interim answer, or of this one
    answer.head.headers.clear();
    return;
  }
  const size_t colon = line.find(':');
  if (colon == line.npos) return;
  std::string name(line.substr(0, colon));
  std::transform(name.begin(), name.end(), name.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  answer.head.headers.emplace_back(std::move(name), trimmed(line.substr(colon + 1)));
}

struct AnswerTarget {
  AnswerInProgress* answer;
  CURL* easy;
  const HttpExchange* exchange;
};

Status begin_answer(AnswerInProgress& answer, CURL* easy) {
  if (std::exchange(answer.has_head, true)) return {};
  long status = 0;
  curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
  answer.head.status = static_cast<int>(status);
  return answer.sink.on_head(answer.head);
}

bool is_final(CURL* easy) {
  long status = 0;
  curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
  return status >= 200;
}

// The empty line after the headers begins the answer, so that a stream is heard of before its first
// byte.
size_t on_header(char* bytes, size_t size, size_t n, void* to) {
  const auto& target = *static_cast<AnswerTarget*>(to);
  AnswerInProgress& answer = *target.answer;
  answer.header_bytes += size * n;
  if (answer.header_bytes > kMaxHeaderBytes) {
    answer.failure = {Code::corrupt,
                      fmt::format("an answer's headers have more than {} bytes", kMaxHeaderBytes)};
    return 0;
  }
  const std::string_view line(bytes, size * n);
  take_header_line(answer, line);
  if (trimmed(line).empty() && is_final(target.easy))
    answer.failure = begin_answer(answer, target.easy);
  return answer.failure.ok() ? size * n : 0;
}

size_t on_body(char* bytes, size_t size, size_t n, void* to) {
  const auto& target = *static_cast<AnswerTarget*>(to);
  AnswerInProgress& answer = *target.answer;
  answer.failure = begin_answer(answer, target.easy);
  if (answer.failure.ok()) answer.failure = answer.sink.on_body({bytes, size * n});
  return answer.failure.ok() ? size * n : 0;
}

size_t on_upload(char* bytes, size_t size, size_t n, void* to) {
  const auto& target = *static_cast<AnswerTarget*>(to);
  AnswerInProgress& answer = *target.answer;
  const uint64_t left = target.exchange->body_bytes - answer.n_sent;
  const size_t part = static_cast<size_t>(std::min<uint64_t>(left, size * n));
  if (part == 0) return 0;
  answer.failure = target.exchange->body_part(answer.n_sent, {bytes, part});
  if (!answer.failure.ok()) return CURL_READFUNC_ABORT;
  answer.n_sent += part;
  return part;
}

// The connection is to be used again after an answer that came too early.
int on_rewind(void* to, curl_off_t offset, int origin) {
  if (origin != SEEK_SET) return CURL_SEEKFUNC_CANTSEEK;
  static_cast<AnswerTarget*>(to)->answer->n_sent = static_cast<uint64_t>(offset);
  return CURL_SEEKFUNC_OK;
}

// The query may hold a secret, as signed URLs do.
Status status_of_curl(CURLcode code, const char* detail, const std::string& url) {
  Code kind = Code::unavailable;
  if (code == CURLE_OPERATION_TIMEDOUT) kind = Code::deadline;
  if (code == CURLE_URL_MALFORMAT || code == CURLE_UNSUPPORTED_PROTOCOL) kind = Code::invalid;
  if (code == CURLE_OUT_OF_MEMORY) kind = Code::out_of_memory;
  return {kind, fmt::format("{}: {}", url.substr(0, url.find('?')),
                            *detail != '\0' ? detail : curl_easy_strerror(code))};
}

}  // namespace

// A connection with what drives it.
struct HttpClient::Wire {
  CURLM* multi = nullptr;
  CURL* easy = nullptr;
  char detail[CURL_ERROR_SIZE] = {};

  Wire() {
    g_curl_once.run([] { curl_global_init(CURL_GLOBAL_DEFAULT); });
    multi = curl_multi_init();
    easy = curl_easy_init();
  }
  ~Wire() {
    if (easy != nullptr) curl_easy_cleanup(easy);
    if (multi != nullptr) curl_multi_cleanup(multi);
  }
  Wire(const Wire&) = delete;
  Wire& operator=(const Wire&) = delete;

  bool is_open() const { return multi != nullptr && easy != nullptr; }
  void configure(const HttpExchange& exchange, curl_slist* headers);
  void connect_answer(AnswerTarget& target);
  Status drive(const HttpExchange& exchange, AnswerInProgress& answer);
};

// Every option anew for each exchange: only the connection is kept.
void HttpClient::Wire::configure(const HttpExchange& exchange, curl_slist* headers) {
  curl_easy_reset(easy);
  detail[0] = '\0';
  curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, detail);
  curl_easy_setopt(easy, CURLOPT_URL, exchange.url.c_str());
  curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(easy, CURLOPT_PROXY, "");
  curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 0L);
  curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, kConnectMs);
  curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, static_cast<long>(exchange.timeout_ms));
  curl_easy_setopt(easy, CURLOPT_HTTPHEADER, headers);
  curl_easy_setopt(easy, CURLOPT_BUFFERSIZE, kReceiveBytes);
  if (!exchange.aws_signature.empty()) {
    curl_easy_setopt(easy, CURLOPT_AWS_SIGV4, exchange.aws_signature.c_str());
    curl_easy_setopt(easy, CURLOPT_USERPWD, exchange.aws_keys.c_str());
    curl_easy_setopt(easy, CURLOPT_EXPECT_100_TIMEOUT_MS, 1L);
  }
  if (exchange.stall_s > 0) {
    curl_easy_setopt(easy, CURLOPT_LOW_SPEED_LIMIT, 1L);
    curl_easy_setopt(easy, CURLOPT_LOW_SPEED_TIME, static_cast<long>(exchange.stall_s));
  }
  if (exchange.body_part) {
    curl_easy_setopt(easy, CURLOPT_UPLOAD, 1L);
    curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, exchange.method.c_str());
    curl_easy_setopt(easy, CURLOPT_INFILESIZE_LARGE, static_cast<curl_off_t>(exchange.body_bytes));
    curl_easy_setopt(easy, CURLOPT_READFUNCTION, on_upload);
    curl_easy_setopt(easy, CURLOPT_SEEKFUNCTION, on_rewind);
  } else if (exchange.method == "POST") {
    curl_easy_setopt(easy, CURLOPT_POST, 1L);
    curl_easy_setopt(easy, CURLOPT_POSTFIELDS, exchange.body.data());
    curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE,
                     static_cast<curl_off_t>(exchange.body.size()));
  } else {
    curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, exchange.method.c_str());
  }
}

void HttpClient::Wire::connect_answer(AnswerTarget& target) {
  curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, on_header);
  curl_easy_setopt(easy, CURLOPT_HEADERDATA, &target);
  curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_body);
  curl_easy_setopt(easy, CURLOPT_WRITEDATA, &target);
  curl_easy_setopt(easy, CURLOPT_READDATA, &target);
  curl_easy_setopt(easy, CURLOPT_SEEKDATA, &target);
}

// Waits on the connection and on a wake-up; libcurl itself keeps the time limits.
Status HttpClient::Wire::drive(const HttpExchange& exchange, AnswerInProgress& answer) {
  const Cancellation* const cancellation = exchange.cancellation;
  std::optional<Cancellation::Watch> watch;
  if (cancellation != nullptr) watch.emplace(*cancellation, [this] { curl_multi_wakeup(multi); });
  int n_running = 1;
  while (n_running > 0) {
    if (cancellation != nullptr && cancellation->is_cancelled())
      return {Code::cancelled, "the exchange was cancelled"};
    if (curl_multi_perform(multi, &n_running) != CURLM_OK)
      return fail(Code::internal, "{}: libcurl could not continue", exchange.url);
    if (n_running > 0) curl_multi_poll(multi, nullptr, 0, kPollMs, nullptr);
  }
  int n_left = 0;
  const CURLMsg* const done = curl_multi_info_read(multi, &n_left);
  if (!answer.failure.ok()) return answer.failure;
  if (done == nullptr) return fail(Code::internal, "{}: libcurl lost the answer", exchange.url);
  if (done->data.result != CURLE_OK) return status_of_curl(done->data.result, detail, exchange.url);
  return begin_answer(answer, easy);
}

HttpClient::HttpClient() = default;
HttpClient::~HttpClient() = default;

Status HttpClient::check_available() { return {}; }

std::unique_ptr<HttpClient::Wire> HttpClient::take_wire() {
  const Lock lock(mutex_);
  if (idle_.empty()) return std::make_unique<Wire>();
  std::unique_ptr<Wire> wire = std::move(idle_.back());
  idle_.pop_back();
  return wire;
}

Status HttpClient::exchange(const HttpExchange& exchange, const HttpAnswerSink& sink) {
  std::unique_ptr<Wire> wire = take_wire();
  if (!wire->is_open()) return fail(Code::out_of_memory, "libcurl could not be started");
  // Without this header libcurl would ask before it sends more than 1 MB. It would sign the header,
  // too, though it does not send it.
  const bool is_signed = !exchange.aws_signature.empty();
  CurlList headers(is_signed ? nullptr : curl_slist_append(nullptr, "Expect:"));
  for (const std::string& header : exchange.headers) {
    curl_slist* const longer = curl_slist_append(headers.get(), header.c_str());
    if (longer == nullptr) return fail(Code::out_of_memory, "no memory for a header");
    if (headers == nullptr) headers.reset(longer);
  }
  AnswerInProgress answer{sink};
  AnswerTarget target{&answer, wire->easy, &exchange};
  wire->configure(exchange, headers.get());
  wire->connect_answer(target);
  curl_multi_add_handle(wire->multi, wire->easy);
  const Status status = wire->drive(exchange, answer);
  curl_multi_remove_handle(wire->multi, wire->easy);
  curl_easy_setopt(wire->easy, CURLOPT_HTTPHEADER, nullptr);
  const Lock lock(mutex_);
  if (idle_.size() < kMaxIdleWires) idle_.push_back(std::move(wire));
  return status;
}

}  // namespace ruv
#endif
