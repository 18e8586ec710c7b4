// An MCP server that is reached over HTTP ("streamable HTTP"): each message is a POST, whose answer
// is one message in JSON or a stream of them. A GET, where the server has it, streams what the
// server sends of its own accord.
//
// A stream that ends before the answer is not taken up again ("resumed"): the call fails.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tools/http_client.h"
#include "tools/mcp/sse_parser.h"
#include "tools/mcp/transport.h"

namespace ruv {

struct McpEndpoint {
  std::string url;
  std::vector<std::string> headers = {};  // "Name: value", sent with every request
};

class HttpTransport final : public McpTransport {
 public:
  explicit HttpTransport(McpEndpoint endpoint) : endpoint_(std::move(endpoint)) {}
  ~HttpTransport() override { close(); }

  // Fails: unsupported (no HTTP in this build). Nothing is sent.
  Status open(McpListener& listener) override;
  // Waits for the answer's end, or until is_answered. Fails: invalid (not permitted: 401, 403),
  // unavailable (another status, with what the server says), and as HttpClient::exchange.
  Result<McpSent> send(std::string_view message, const McpSendTerms& terms) override;
  // Starts the GET stream.
  void begin_session(std::string_view revision) override;
  void forget_session() override;
  // Also tells the server that the session is over (DELETE).
  void close() override;

 private:
  class AnswerReader;
  enum class StreamEnd { over, again };

  std::vector<std::string> headers(std::string_view accept) const;
  void stop_stream();
  void stream();
  StreamEnd stream_once(std::string& last_id, int64_t& wait_ms);
  void end_session();

  McpEndpoint endpoint_;
  HttpClient http_;
  McpListener* listener_ = nullptr;
  bool is_closed_ = false;
  Thread stream_thread_;
  std::unique_ptr<Cancellation> stream_end_;

  mutable Mutex mutex_;  // of what follows
  Condition stream_ends_;
  std::string session_;  // empty: the server keeps none
  std::string revision_;
};

}  // namespace ruv
