// HostAccess: which Host and Origin headers are accepted, so that a web page of another site cannot
// use the server through its visitor's browser, neither directly nor through a name of its own that
// resolves to this machine (DNS rebinding); and which other pages may read answers (CORS).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "net/api_error.h"
#include "net/http/message.h"

namespace ruv {

class HostAccess {
 public:
  // `address`: the address that the server listens on. `allowed`: further names, without port; "*"
  // allows any. `origins`: pages that may read answers (CORS), as "https://app.example"; "*": any.
  HostAccess(std::string_view address, bool has_key, std::vector<std::string> allowed,
             std::vector<std::string> origins = {});

  // Fails with 403 unless the request's Host and Origin are acceptable.
  ApiResult<void> check(const HttpRequest& request) const;
  // The headers of a response that let the request's page read it; none: it may not.
  HeaderLines cors_headers(const HttpRequest& request) const;
  // Whether a browser asks whether such a page may send a request.
  bool is_preflight(const HttpRequest& request) const;

 private:
  // Which Host headers are accepted besides the allowed names.
  enum class Rule {
    loopback,  // names and addresses of the machine itself: the server listens there only
    local,     // these, addresses, and names without a dot, which no foreign site has
    any,       // the API key protects
  };
  bool is_allowed(const std::string& name) const;
  bool may_be_called(const std::string& name) const;
  bool may_read(const HttpRequest& request) const;

  Rule rule_;
  std::vector<std::string> allowed_;
  std::vector<std::string> origins_;
};

// localhost and the loopback addresses, without port and brackets.
bool is_loopback(const std::string& name);
// The host of "host", "host:port" or "[v6]:port" in lower case, without port, brackets and a dot at
// its end; empty where it is none of these.
std::string host_name(std::string_view authority);

}  // namespace ruv
