// An HTTP client for MCP and for hubs of models: one exchange at a time, with an answer that is
// handed on as it comes.
//
// libcurl does it. Redirects are not followed, proxies of the environment are not used, and
// certificates are checked against the system's. Builds without libcurl refuse every exchange.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/thread.h"
#include "tools/cancellation.h"

namespace ruv {

struct HttpExchange {
  std::string method;                     // "GET", "POST", "PUT", "DELETE"
  std::string url;                        // http:// or https://
  std::vector<std::string> headers = {};  // "Name: value"
  std::string body = {};
  // Instead of `body`: body_bytes bytes, of which it fills the span with those from the offset on.
  // A failure ends the exchange, which returns it.
  std::function<Status(uint64_t offset, std::span<char>)> body_part = {};
  uint64_t body_bytes = 0;
  // Signs the exchange as S3 and its like want it (AWS Signature Version 4): "aws:amz:REGION:s3",
  // with "KEY_ID:SECRET". The hash of the body is among the headers then.
  std::string aws_signature = {};
  std::string aws_keys = {};
  int64_t timeout_ms = 30'000;  // of all of it; 0: none
  int64_t stall_s = 0;          // ends with `deadline` after this time without a byte; 0: never
  const Cancellation* cancellation = nullptr;
};

// What an answer begins with.
struct HttpAnswerHead {
  int status = 0;
  // Names in lower case. At most 64 KB in all.
  std::vector<std::pair<std::string, std::string>> headers = {};
  // Empty: there is none. The first of several.
  std::string_view header(std::string_view lower_name) const;
};

// Takes an answer. A failure ends the exchange, which returns it.
struct HttpAnswerSink {
  std::function<Status(const HttpAnswerHead&)> on_head;
  std::function<Status(std::string_view)> on_body;
};

// Keeps connections open for the next exchange. Thread safety: any number of exchanges at once.
class HttpClient {
 public:
  HttpClient();
  ~HttpClient();
  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;

  // Waits until the answer has ended. Fails: unavailable (no connection, or it broke), deadline,
  // cancelled, invalid (the URL), unsupported (no libcurl), corrupt (headers that are too long),
  // and as the sink.
  Status exchange(const HttpExchange& exchange, const HttpAnswerSink& sink);
  // Whether this build has HTTP. Fails: unsupported.
  static Status check_available();

 private:
  struct Wire;
  std::unique_ptr<Wire> take_wire();
  Mutex mutex_;
  std::vector<std::unique_ptr<Wire>> idle_;
};

}  // namespace ruv
