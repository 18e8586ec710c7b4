#include "net/http/endpoint.h"

#include <boost/asio/ip/address.hpp>
#include <charconv>

namespace ruv {

Result<Endpoint> parse_endpoint(std::string_view text) {
  const size_t colon = text.rfind(':');
  std::string_view host = text.substr(0, colon);
  const std::string_view port = colon == text.npos ? std::string_view() : text.substr(colon + 1);
  Endpoint endpoint;
  const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), endpoint.port);
  if (port.empty() || error != std::errc() || end != port.data() + port.size()) {
    return fail(Code::invalid, "'{}' is not HOST:PORT with a port from 0 to 65535", text);
  }
  const bool is_bracketed = host.starts_with('[') && host.ends_with(']');
  if (is_bracketed) host = host.substr(1, host.size() - 2);
  endpoint.host = host == "localhost" ? "127.0.0.1" : host;
  boost::system::error_code wrong;
  const auto address = boost::asio::ip::make_address(endpoint.host, wrong);
  if (wrong || address.is_v6() != is_bracketed) {
    return fail(Code::invalid,
                "'{}': the host must be an IPv4 address, or an IPv6 address in brackets", text);
  }
  return endpoint;
}

}  // namespace ruv
