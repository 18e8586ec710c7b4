// Endpoint: an address and a port, as a flag names them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace ruv {

struct Endpoint {
  std::string host;  // an IPv4 or IPv6 address, without brackets
  uint16_t port = 0;
};

// "127.0.0.1:50051", "localhost:0" (127.0.0.1) or "[::1]:50051". Fails: invalid.
Result<Endpoint> parse_endpoint(std::string_view text);

}  // namespace ruv
