#include "net/http/message.h"

#include <algorithm>
#include <array>

namespace ruv {
namespace {

struct ReasonRow {
  int status;
  std::string_view reason;
};
constexpr std::array kReasons{
    ReasonRow{200, "OK"},
    ReasonRow{304, "Not Modified"},
    ReasonRow{400, "Bad Request"},
    ReasonRow{401, "Unauthorized"},
    ReasonRow{403, "Forbidden"},
    ReasonRow{404, "Not Found"},
    ReasonRow{405, "Method Not Allowed"},
    ReasonRow{408, "Request Timeout"},
    ReasonRow{409, "Conflict"},
    ReasonRow{413, "Content Too Large"},
    ReasonRow{429, "Too Many Requests"},
    ReasonRow{431, "Request Header Fields Too Large"},
    ReasonRow{500, "Internal Server Error"},
    ReasonRow{501, "Not Implemented"},
    ReasonRow{503, "Service Unavailable"},
};

// The value of a hexadecimal digit, or -1.
int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

}  // namespace

std::string_view http_reason(int status) {
  for (const ReasonRow& row : kReasons) {
    if (row.status == status) return row.reason;
  }
  return "Unknown";
}

std::string decode_percent(std::string_view path) {
  std::string out;
  out.reserve(path.size());
  for (size_t i = 0; i < path.size(); ++i) {
    const int high = path[i] == '%' && i + 2 < path.size() ? hex_digit(path[i + 1]) : -1;
    const int low = high >= 0 ? hex_digit(path[i + 2]) : -1;
    if (low >= 0) {
      out += static_cast<char>(high * 16 + low);
      i += 2;
    } else {
      out += path[i];
    }
  }
  return out;
}

std::vector<QueryParameter> query_parameters(std::string_view query) {
  std::vector<QueryParameter> found;
  while (!query.empty()) {
    const std::string_view pair = query.substr(0, query.find('&'));
    query.remove_prefix(std::min(pair.size() + 1, query.size()));
    const size_t equals = std::min(pair.find('='), pair.size());
    found.push_back({decode_percent(pair.substr(0, equals)),
                     decode_percent(pair.substr(std::min(equals + 1, pair.size())))});
  }
  return found;
}

}  // namespace ruv
