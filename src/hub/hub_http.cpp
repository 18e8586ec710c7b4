// Redirects are followed here and not by libcurl, so that each step can be checked and the token be
// left out.
#include "hub/hub_http.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <optional>

#include "base/clock.h"

namespace ruv {
namespace {

constexpr size_t kMaxUrl = 16 << 10;
constexpr size_t kMaxShown = 200;
constexpr size_t kMaxIgnoredBody = 64 << 10;
constexpr int kTextRetries = 4;
constexpr int64_t kLongestWaitMs = 10'000;
constexpr int64_t kLongestAskedMs = 60'000;
constexpr std::chrono::milliseconds kLookAgain(50);

std::string lower(std::string_view text) {
  std::string result(text);
  for (char& c : result) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  return result;
}

// 304 and 300 lead nowhere.
bool is_redirect(int status) {
  return status == 301 || status == 302 || status == 303 || status == 307 || status == 308;
}

// Signed URLs have secrets in their query.
std::string without_query(const std::string& url) { return url.substr(0, url.find('?')); }

}  // namespace

std::string one_line(std::string_view text) {
  std::string line(text.substr(0, kMaxShown));
  for (char& c : line) c = static_cast<unsigned char>(c) < 32 || c == 127 ? ' ' : c;
  return line;
}

// The port is always written, so that origins can be compared as texts. A user's name in a URL
// could make it look like another host's.
Result<std::string> origin_of(std::string_view url) {
  const bool is_https = lower(url.substr(0, 8)) == "https://";
  const bool is_http = lower(url.substr(0, 7)) == "http://";
  if (!is_https && !is_http)
    return fail(Code::invalid, "'{}' is not an http or https URL", one_line(url));
  const std::string_view rest = url.substr(is_https ? 8 : 7);
  std::string host = lower(rest.substr(0, rest.find_first_of("/?#")));
  const bool is_plain =
      host.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789.-_:[]") == std::string::npos;
  if (host.empty() || !is_plain)
    return fail(Code::invalid, "'{}' has no plain host", one_line(url));
  if (host.find(':', host.rfind(']') == host.npos ? 0 : host.rfind(']')) == host.npos)
    host += is_https ? ":443" : ":80";
  return (is_https ? "https://" : "http://") + host;
}

Result<std::string> redirected(const std::string& from, std::string_view location) {
  const std::string origin = TRY(origin_of(from));
  const bool has_control =
      std::ranges::any_of(location, [](unsigned char c) { return c <= 32 || c == 127; });
  if (location.empty() || location.size() > kMaxUrl || has_control)
    return fail(Code::corrupt, "{}: it redirects to no URL", without_query(from));
  std::string to(location);
  if (location.starts_with("//")) {
    to = origin.substr(0, origin.find(':') + 1) + to;
  } else if (location.starts_with('/')) {
    to = origin + to;
  }
  const Result<std::string> target = origin_of(to);
  if (!target) return fail(Code::corrupt, "{}: it redirects to no URL", without_query(from));
  if (origin.starts_with("https:") && !target->starts_with("https:"))
    return fail(Code::corrupt, "{}: it redirects from https to http", without_query(from));
  return to;
}

// The hub explains its refusals in a header.
Status status_of_answer(const HttpAnswerHead& head, const std::string& what) {
  const int status = head.status;
  if (status >= 200 && status < 300) return {};
  const std::string_view said = head.header("x-error-message");
  const std::string detail = fmt::format("{}: the server answers {}{}{}", what, status,
                                         said.empty() ? "" : ": ", one_line(said));
  if (!head.header("x-xet-hash").empty() || lower(said).find("xet") != std::string::npos) {
    return fail(Code::unsupported, "{}; it gives this file over Xet only, which is not spoken here",
                detail);
  }
  if (status == 401)
    return fail(Code::invalid, "{}; it may not exist, or needs a token in HF_TOKEN", detail);
  if (status == 403) {
    return fail(Code::invalid, "{}; the token may not read it, or its terms are not accepted yet",
                detail);
  }
  if (status == 404 || status == 410) return fail(Code::not_found, "{}", detail);
  if (status == 408 || status == 429 || status >= 500) return fail(Code::unavailable, "{}", detail);
  return fail(Code::invalid, "{}", detail);
}

bool may_try_again(const Status& status) {
  return status.code() == Code::unavailable || status.code() == Code::deadline;
}

int64_t asked_wait_ms(const HttpAnswerHead& head) {
  const std::string_view text = head.header("retry-after");
  int64_t seconds = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seconds);
  if (error != std::errc() || end != text.data() + text.size() || seconds < 0) return 0;
  return std::min(seconds, kLongestAskedMs / 1000) * 1000;
}

// In short sleeps, since a cancellation wakes no sleeper.
bool HubHttp::wait_for_try(int n, int64_t asked_ms, const Cancellation* stop) const {
  const Cancellation& cancellation = stop != nullptr ? *stop : cancellation_;
  const int64_t ours = std::min(kLongestWaitMs, options_.first_wait_ms << std::min(n, 20));
  const SteadyClock clock;
  const int64_t until = clock.now_ns() + std::max(ours, asked_ms) * 1'000'000;
  while (!cancellation.is_cancelled()) {
    const int64_t left = until - clock.now_ns();
    if (left <= 0) return true;
    std::this_thread::sleep_for(
        std::min<std::chrono::nanoseconds>(std::chrono::nanoseconds(left), kLookAgain));
  }
  return false;
}

namespace {

// Passes on an answer unless it is a redirect, whose body is of no use.
struct LastAnswer {
  const HttpAnswerSink& sink;
  bool redirects = false;
  std::string location = {};
  size_t n_ignored = 0;

  Status take_head(const HttpAnswerHead& head) {
    redirects = is_redirect(head.status) && !head.header("location").empty();
    if (!redirects) return sink.on_head(head);
    location = head.header("location");
    return {};
  }
  Status take_body(std::string_view bytes) {
    if (!redirects) return sink.on_body(bytes);
    n_ignored += bytes.size();
    if (n_ignored <= kMaxIgnoredBody) return {};
    return fail(Code::corrupt, "a redirect's body has more than {} bytes", kMaxIgnoredBody);
  }
};

}  // namespace

Status HubHttp::exchange(HttpExchange exchange, const HttpAnswerSink& sink, std::string* final_url,
                         const Cancellation* stop) {
  exchange.cancellation = stop != nullptr ? stop : &cancellation_;
  exchange.stall_s = options_.stall_s;
  const std::vector<std::string> headers = exchange.headers;
  const std::string home = TRY(origin_of(options_.endpoint));
  for (int n = 0; n <= kMaxRedirects; ++n) {
    exchange.headers = headers;
    exchange.headers.emplace_back("User-Agent: ruvllm");
    if (!options_.token.empty() && TRY(origin_of(exchange.url)) == home)
      exchange.headers.push_back("Authorization: Bearer " + options_.token);
    LastAnswer last{sink};
    const HttpAnswerSink through{[&](const HttpAnswerHead& head) { return last.take_head(head); },
                                 [&](std::string_view bytes) { return last.take_body(bytes); }};
    const Status status = client_.exchange(exchange, through);
    if (!last.redirects) {
      if (final_url != nullptr) *final_url = exchange.url;
      return status;
    }
    exchange.url = TRY(redirected(exchange.url, last.location));
  }
  return fail(Code::corrupt, "{}: more than {} redirects", without_query(exchange.url),
              kMaxRedirects);
}

// Packed answers are refused before a byte of them is taken: nothing here unpacks.
Result<std::string> HubHttp::text_once(const HttpExchange& exchange, size_t limit,
                                       const std::string& what, HttpAnswerHead& head) {
  std::string body;
  HttpAnswerSink sink;
  sink.on_head = [&](const HttpAnswerHead& given) {
    head = given;
    const std::string_view encoding = given.header("content-encoding");
    if (encoding.empty() || encoding == "identity") return Status();
    return Status(fail(Code::unsupported,
                       "{}: the answer is packed as '{}', which was not asked for", what,
                       one_line(encoding)));
  };
  sink.on_body = [&](std::string_view bytes) {
    if (body.size() + bytes.size() > limit)
      return Status(fail(Code::corrupt, "{}: the answer has more than {} bytes", what, limit));
    body += bytes;
    return Status();
  };
  TRY(this->exchange(exchange, sink));
  TRY(status_of_answer(head, what));
  return body;
}

Result<std::string> HubHttp::text(const HttpExchange& exchange, size_t limit,
                                  const std::string& what, HttpAnswerHead* head) {
  for (int n = 0;; ++n) {
    HttpAnswerHead given;
    Result<std::string> body = text_once(exchange, limit, what, given);
    if (head != nullptr) *head = given;
    if (body || !may_try_again(body.error()) || n >= std::min(options_.retries, kTextRetries))
      return body;
    if (!wait_for_try(n, asked_wait_ms(given))) return fail(Code::cancelled, "{}: cancelled", what);
  }
}

}  // namespace ruv
