#include "net/http/request_head.h"

#include <algorithm>
#include <boost/beast/core/string.hpp>

namespace ruv {
namespace {

namespace http = boost::beast::http;

std::string_view view_of(boost::beast::string_view text) { return {text.data(), text.size()}; }

std::string lower_media_type(std::string_view value) {
  std::string type(value.substr(0, value.find(';')));
  while (!type.empty() && (type.back() == ' ' || type.back() == '\t')) type.pop_back();
  for (char& c : type) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  return type;
}

// The parameter "boundary" of a content type, of at most 70 characters; empty: there is none.
std::string_view boundary_of(std::string_view value) {
  constexpr std::string_view kName = "boundary=";
  const auto is_name = [](char a, char b) {
    return (a >= 'A' && a <= 'Z' ? static_cast<char>(a + 32) : a) == b;
  };
  const auto at = std::search(value.begin(), value.end(), kName.begin(), kName.end(), is_name);
  if (at == value.end()) return {};
  value.remove_prefix(static_cast<size_t>(at - value.begin()) + kName.size());
  if (value.starts_with('"')) {
    value.remove_prefix(1);
    value = value.substr(0, value.find('"'));
  } else {
    value = value.substr(0, value.find_first_of("; \t"));
  }
  constexpr size_t kMostBytes = 70;
  return value.size() <= kMostBytes ? value : std::string_view();
}

bool starts_ignoring_case(std::string_view text, std::string_view lower) {
  return std::ranges::equal(text.substr(0, lower.size()), lower, [](char x, char y) {
    return (x >= 'A' && x <= 'Z' ? static_cast<char>(x + 32) : x) == y;
  });
}

// "Authorization: Bearer KEY", as OpenAI's clients send it, else "X-Api-Key: KEY", as Anthropic's.
std::string_view key_of(const RequestHead& head) {
  constexpr std::string_view kScheme = "bearer ";
  const std::string_view sent = view_of(head[http::field::authorization]);
  if (starts_ignoring_case(sent, kScheme)) return sent.substr(kScheme.size());
  return view_of(head["X-Api-Key"]);
}

// Whether a list such as "gzip, br;q=0" has the word, and not at weight 0.
bool is_listed(std::string_view list, std::string_view word) {
  while (!list.empty()) {
    std::string_view item = list.substr(0, list.find(','));
    list.remove_prefix(std::min(item.size() + 1, list.size()));
    while (!item.empty() && item.front() == ' ') item.remove_prefix(1);
    if (lower_media_type(item) != word) continue;
    const size_t weight = item.find("q=");
    return weight == item.npos || item.find_first_of("123456789", weight) != item.npos;
  }
  return false;
}

// It is written to headers and logs: visible characters only.
std::string_view request_id(std::string_view sent) {
  constexpr size_t kMaxIdBytes = 128;
  const bool is_visible = std::ranges::all_of(sent, [](char c) { return c > ' ' && c < 0x7F; });
  return is_visible && sent.size() <= kMaxIdBytes ? sent : std::string_view();
}

// W3C: "00-" and 32 hexadecimal digits, which are not all 0, before the parent's.
std::string_view trace_id(std::string_view sent) {
  constexpr size_t kAt = 3;
  constexpr size_t kDigits = 32;
  if (sent.size() < 55 || sent[2] != '-' || sent[kAt + kDigits] != '-') return {};
  const std::string_view id = sent.substr(kAt, kDigits);
  const bool is_hex = id.find_first_not_of("0123456789abcdef") == id.npos;
  return is_hex && id.find_first_not_of('0') != id.npos ? id : std::string_view();
}

}  // namespace

// Only new bytes are scanned on each call, so a slow head costs linear time.
const char* head_line_fault(std::string_view text, size_t from) {
  for (size_t i = from; i < text.size(); ++i) {
    if (text[i] == '\0') return "a NUL byte in the headers";
    if (text[i] != '\n') continue;
    if (i == 0 || text[i - 1] != '\r') return "a line that ends without CR";
    if (i + 1 < text.size() && (text[i + 1] == ' ' || text[i + 1] == '\t'))
      return "a folded header";
  }
  return nullptr;
}

// Refuses Transfer-Encoding beside Content-Length or in HTTP/1.0, codings other than chunked, and a
// missing or repeated Host.
std::optional<ApiError> framing_fault(const RequestHead& head) {
  const auto n_encodings = head.count(http::field::transfer_encoding);
  if (n_encodings > 0) {
    const std::string_view encoding = view_of(head[http::field::transfer_encoding]);
    if (head.count(http::field::content_length) > 0 || head.version() < 11) {
      return bad_request("", "not valid HTTP: Transfer-Encoding with Content-Length or HTTP/1.0",
                         "invalid_http");
    }
    if (n_encodings > 1 ||
        !boost::beast::iequals(head[http::field::transfer_encoding], "chunked")) {
      return ApiError{501, "invalid_request_error",
                      fmt::format("Transfer-Encoding '{}' is not supported; send chunked, or a "
                                  "Content-Length",
                                  shortened(encoding, 100)),
                      "", "unsupported_transfer_encoding"};
    }
  }
  const auto n_hosts = head.count(http::field::host);
  if (n_hosts > 1 || (n_hosts == 0 && head.version() >= 11)) {
    return bad_request("",
                       fmt::format("not valid HTTP: {} Host headers, there must be one", n_hosts),
                       "invalid_http");
  }
  return std::nullopt;
}

HttpRequest to_request(const RequestHead& head) {
  HttpRequest request;
  request.method = view_of(head.method_string());
  const std::string_view target = view_of(head.target());
  const size_t question = target.find('?');
  request.path = decode_percent(target.substr(0, question));
  if (question != std::string_view::npos) request.query = target.substr(question + 1);
  request.content_type = lower_media_type(view_of(head[http::field::content_type]));
  request.boundary = boundary_of(view_of(head[http::field::content_type]));
  request.has_host = head.count(http::field::host) > 0;
  request.host = view_of(head[http::field::host]);
  request.from_web_page = head.count(http::field::origin) > 0;
  request.origin = view_of(head[http::field::origin]);
  request.wants_page = is_listed(view_of(head[http::field::accept]), "text/html");
  request.takes_gzip = is_listed(view_of(head[http::field::accept_encoding]), "gzip");
  request.known_tag = view_of(head[http::field::if_none_match]);
  request.preflight_method = view_of(head["Access-Control-Request-Method"]);
  request.preflight_headers = view_of(head["Access-Control-Request-Headers"]);
  request.key = key_of(head);
  request.id = request_id(view_of(head["X-Request-Id"]));
  request.trace = trace_id(view_of(head["traceparent"]));
  return request;
}

}  // namespace ruv
