#include "net/http/access.h"

#include <algorithm>
#include <boost/asio/ip/address.hpp>

namespace ruv {
namespace {

namespace ip = boost::asio::ip;

// IPv4 or IPv6, without brackets.
std::optional<ip::address> as_address(const std::string& name) {
  boost::system::error_code error;
  const ip::address address = ip::make_address(name, error);
  if (error) return std::nullopt;
  return address;
}

bool is_port(std::string_view text) {
  return text.size() <= 5 && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

// ASCII without white space and the characters that end a host in a URL.
bool is_name(std::string_view text) {
  return std::ranges::none_of(text, [](char c) {
    const auto byte = static_cast<unsigned char>(c);  // char is signed on x86, not on Arm
    return byte <= ' ' || byte >= 0x7F ||
           std::string_view("/@?#\\").find(c) != std::string_view::npos;
  });
}

// "https://host:port" → "host:port"; empty for "null".
std::string_view authority_of(std::string_view origin) {
  const size_t at = origin.find("://");
  return at == std::string_view::npos ? std::string_view() : origin.substr(at + 3);
}

}  // namespace

bool is_loopback(const std::string& name) {
  if (name == "localhost") return true;
  const auto address = as_address(name);
  return address && address->is_loopback();
}

std::string host_name(std::string_view authority) {
  std::string_view name = authority;
  std::string_view port;
  const bool bracketed = name.starts_with('[');
  const size_t bracket = name.find(']');
  if (bracketed) {
    if (bracket == std::string_view::npos) return {};
    port = name.substr(bracket + 1);
    if (!port.empty() && port[0] != ':') return {};
    name = name.substr(1, bracket - 1);
  } else if (const size_t colon = name.find(':'); colon != std::string_view::npos) {
    port = name.substr(colon);
    name = name.substr(0, colon);
  }
  if (!port.empty() && !is_port(port.substr(1))) return {};
  if (name.ends_with('.')) name.remove_suffix(1);
  if (!is_name(name)) return {};
  std::string lower(name);
  for (char& c : lower) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  return lower;
}

HostAccess::HostAccess(std::string_view address, bool has_key, std::vector<std::string> allowed,
                       std::vector<std::string> origins)
    : rule_(is_loopback(std::string(address)) ? Rule::loopback
            : has_key                         ? Rule::any
                                              : Rule::local),
      origins_(std::move(origins)) {
  for (const std::string& name : allowed) {
    allowed_.push_back(name == "*" ? name : host_name(name));
    if (name == "*") rule_ = Rule::any;
  }
}

bool HostAccess::is_allowed(const std::string& name) const {
  return is_loopback(name) || std::ranges::find(allowed_, name) != allowed_.end();
}

bool HostAccess::may_be_called(const std::string& name) const {
  if (name.empty()) return false;
  if (rule_ == Rule::any || is_allowed(name)) return true;
  return rule_ == Rule::local && (as_address(name) || name.find('.') == std::string::npos);
}

bool HostAccess::may_read(const HttpRequest& request) const {
  return request.from_web_page && std::ranges::any_of(origins_, [&](const std::string& origin) {
           return origin == "*" || origin == request.origin;
         });
}

bool HostAccess::is_preflight(const HttpRequest& request) const {
  return request.method == "OPTIONS" && !request.preflight_method.empty() && may_read(request);
}

// The origin itself and not "*", so that shared caches keep one answer per page. Names of headers
// are sent back where they are such names.
HeaderLines HostAccess::cors_headers(const HttpRequest& request) const {
  if (!may_read(request) || !is_name(authority_of(request.origin))) return {};
  HeaderLines lines = {
      {"Access-Control-Allow-Origin", request.origin},
      {"Vary", "Origin"},
      {"Access-Control-Expose-Headers", "X-Request-Id, X-Ignored-Fields, Retry-After"}};
  if (!is_preflight(request)) return lines;
  lines.emplace_back("Access-Control-Allow-Methods", "GET, POST, PUT, DELETE");
  lines.emplace_back("Access-Control-Max-Age", "600");
  const bool are_names = std::ranges::all_of(request.preflight_headers, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("-_, ").find(c) != std::string_view::npos;
  });
  if (are_names && !request.preflight_headers.empty()) {
    lines.emplace_back("Access-Control-Allow-Headers", request.preflight_headers);
  }
  return lines;
}

// Host decides under which name the server may be called, Origin which pages may call it.
ApiResult<void> HostAccess::check(const HttpRequest& request) const {
  const auto refusal = [](std::string message, const char* code) {
    return tl::unexpected(ApiError{403, "invalid_request_error", std::move(message), "", code});
  };
  const std::string host = host_name(request.host);
  if (request.has_host && !may_be_called(host)) {
    return refusal(fmt::format("'{}' is not a name of this server; call it by its address, "
                               "or start it with --allow-host {}",
                               shortened(request.host, 100), host.empty() ? "NAME" : "that name"),
                   "host_not_allowed");
  }
  if (!request.from_web_page || may_read(request)) return {};
  const std::string_view authority = authority_of(request.origin);
  const bool is_own = request.has_host && !authority.empty() && request.host == authority;
  if (is_own || is_allowed(host_name(authority)) ||
      std::ranges::find(allowed_, "*") != allowed_.end()) {
    return {};
  }
  return refusal(fmt::format("web pages of '{}' may not use this server; start it with "
                             "--cors-origin and that origin, or --allow-host and their host's "
                             "name, if they should",
                             shortened(request.origin, 100)),
                 "origin_not_allowed");
}

}  // namespace ruv
