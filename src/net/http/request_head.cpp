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
  request.has_host = head.count(http::field::host) > 0;
  request.host = view_of(head[http::field::host]);
  request.from_web_page = head.count(http::field::origin) > 0;
  request.origin = view_of(head[http::field::origin]);
  request.authorization = view_of(head[http::field::authorization]);
  return request;
}

}  // namespace ruv
