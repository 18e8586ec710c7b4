#include "net/http/http2_head.h"

#include <boost/beast/core/string.hpp>
#include <charconv>

#include "net/http/served_request.h"

namespace ruv {
namespace {

namespace http = boost::beast::http;

// What a field counts beside its name and value (RFC 9113 6.5.2).
constexpr uint64_t kFieldBytes = 32;
// What Beast takes of one field.
constexpr size_t kMaxFieldBytes = 65'000;
// A head this many times too long is meant to harm: few bytes of HPACK can stand for many.
constexpr uint64_t kBombFactor = 16;

std::string lower(std::string_view name) {
  std::string out(name);
  for (char& c : out) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  return out;
}

}  // namespace

// Beast has no fields for these.
bool Http2Head::add_pseudo(std::string_view name, std::string_view value) {
  if (name == ":method") {
    head_.method_string({value.data(), value.size()});
  } else if (name == ":path") {
    head_.target({value.data(), value.size()});
  } else if (name == ":authority") {
    authority_ = value;
  } else if (name == ":scheme") {
    scheme_ = value;
  } else {
    return false;
  }
  return true;
}

bool Http2Head::add(std::string_view name, std::string_view value) {
  n_bytes_ += name.size() + value.size() + kFieldBytes;
  is_long_ = is_long_ || n_bytes_ > max_bytes_ || name.size() + value.size() > kMaxFieldBytes;
  if (is_long_) return n_bytes_ <= kBombFactor * max_bytes_;
  has_no_room_ = has_no_room_ || !share_.resize(n_bytes_);
  if (has_no_room_ || add_pseudo(name, value)) return true;
  head_.insert({name.data(), name.size()}, {value.data(), value.size()});
  return true;
}

std::optional<HttpResponse> Http2Head::fault() {
  if (is_long_) return long_head(max_bytes_);
  if (has_no_room_) return server_overloaded(kManyBytes);
  if (!scheme_.empty() && scheme_ != "http" && scheme_ != "https") {
    return invalid_http(
        fmt::format("the scheme '{}'; it must be http or https", shortened(scheme_, 100)));
  }
  head_.version(11);
  if (authority_) {
    const bool has_other = head_.count(http::field::host) > 0 &&
                           head_[http::field::host] != boost::beast::string_view(*authority_);
    if (has_other) return invalid_http("a Host header that is not the authority");
    head_.set(http::field::host, *authority_);
  }
  if (const auto wrong = framing_fault(head_)) return error_response(*wrong);
  return std::nullopt;
}

bool Http2Head::asks_first() const {
  const auto found = head_.find(http::field::expect);
  return found != head_.end() && boost::beast::iequals(found->value(), "100-continue");
}

// nghttp2 has refused one that is no number.
std::optional<uint64_t> Http2Head::length() const {
  const auto found = head_.find(http::field::content_length);
  if (found == head_.end()) return std::nullopt;
  uint64_t n = 0;
  const char* const end = found->value().data() + found->value().size();
  const auto [at, error] = std::from_chars(found->value().data(), end, n);
  return error == std::errc() && at == end ? std::optional(n) : std::nullopt;
}

std::string Http2Frames::begin(const ResponseHead& head) {
  HeaderLines& fields = fields_.emplace();
  fields.emplace_back(":status", fmt::format("{}", head.status));
  fields.emplace_back("content-type", head.content_type);
  fields.emplace_back(lower(kAsDeclaredName), kAsDeclaredValue);
  if (head.length && head.status != 304)
    fields.emplace_back("content-length", fmt::format("{}", *head.length));
  for (const auto& [name, value] : lines()) fields.emplace_back(lower(name), value);
  for (const auto& [name, value] : head.lines) fields.emplace_back(lower(name), value);
  return {};
}

}  // namespace ruv
