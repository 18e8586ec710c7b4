#include "tools/http_client.h"

namespace ruv {

std::string_view HttpAnswerHead::header(std::string_view lower_name) const {
  for (const auto& [name, value] : headers) {
    if (name == lower_name) return value;
  }
  return {};
}

#ifndef RUV_HAS_CURL
// A build without libcurl.
struct HttpClient::Wire {};

HttpClient::HttpClient() = default;
HttpClient::~HttpClient() = default;

Status HttpClient::check_available() {
  return fail(Code::unsupported, "this build has no HTTP client; build it with libcurl");
}
std::unique_ptr<HttpClient::Wire> HttpClient::take_wire() { return nullptr; }
Status HttpClient::exchange(const HttpExchange&, const HttpAnswerSink&) {
  return check_available();
}
#endif

}  // namespace ruv
