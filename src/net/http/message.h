// One HTTP request and one HTTP answer as plain values. Routes see these, never a socket.
#pragma once

#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ruv {

// Names and values of headers, in their order.
using HeaderLines = std::vector<std::pair<std::string, std::string>>;

// Every answer has this header: browsers then do not guess another type of content.
inline constexpr std::string_view kAsDeclaredName = "X-Content-Type-Options";
inline constexpr std::string_view kAsDeclaredValue = "nosniff";

struct HttpRequest {
  std::string method;        // "GET"
  std::string path;          // percent-decoded, without the query
  std::string query;         // what follows '?', as sent
  std::string path_tail;     // the part that matched `{…}` in the route's path, or the second one
  std::string path_first;    // the part that matched the first `{…}` of two
  std::string content_type;  // lower case, without parameters
  std::string boundary;      // between the parts of a form: a parameter of the content type
  std::string key;           // of the header Authorization (Bearer) or X-Api-Key
  std::string key_name;      // of the key, once it is known; empty: it has none
  bool has_own_key = false;  // the key is one of the server's; false: the server has none
  std::string id;            // of the header X-Request-Id, or drawn; empty before that
  std::string trace;         // the trace id of the header traceparent; empty: none
  std::string host;          // the header's value
  bool has_host = false;     // HTTP/1.0 needs none
  std::string origin;        // the header's value
  bool wants_page = false;   // it asks for text/html by name, as browsers do where a page is opened
  bool takes_gzip = false;   // its answer may be compressed so
  std::string known_tag;     // If-None-Match: what the client has already
  bool from_web_page = false;  // it has an Origin header, as browsers send it
  // What a browser asks before it sends another page's request.
  std::string preflight_method;
  std::string preflight_headers;
  std::string body;
  // Stopped when the answer is no longer wanted: the client has disconnected, or the server is
  // stopping.
  std::stop_token stop;
};

// An answer that is sent as a whole; `headers` are added to the standard ones.
struct HttpResponse {
  int status = 200;
  std::string content_type = "application/json";
  std::string body = {};
  HeaderLines headers = {};
};

// "Not Found" for 404; "Unknown" for codes this server does not send.
std::string_view http_reason(int status);

// `path` with %XX decoded. Bad escapes stay as they are.
std::string decode_percent(std::string_view path);

// Both decoded; the value of one without '=' is empty.
struct QueryParameter {
  std::string name;
  std::string value;
};
// Those of "limit=2&after=x", in their order.
std::vector<QueryParameter> query_parameters(std::string_view query);

}  // namespace ruv
