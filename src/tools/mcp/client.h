// McpClient: this program's side of a session with one MCP server.
//
// Revision 2025-06-18 is offered, and older ones are accepted. Used: tools, with pages and changes
// of the list; ping; cancellation; log messages. Not offered, so that a server may not ask: roots,
// sampling, elicitation. Progress is not asked for.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/thread.h"
#include "tools/mcp/call_result.h"
#include "tools/mcp/json_rpc.h"
#include "tools/mcp/transport.h"

namespace ruv {

// More tools than this of one server are refused.
inline constexpr size_t kMaxToolsPerServer = 1000;
// Requests that wait for their answers at the same time.
inline constexpr size_t kMaxPendingRequests = 256;

struct McpClientOptions {
  // The name and version that the server sees.
  std::string name = "ruvllm";
  std::string version = "0";
  // For initialize and lists.
  int64_t timeout_ms = 30'000;
  // Log messages of the server and remarks on what it does wrong. Any thread. May be null.
  std::function<void(std::string_view)> on_log = {};
};

// Thread safety: any function from any thread.
class McpClient final : private McpListener {
 public:
  // Opens the transport and the session. Fails: as the transport; unsupported (a revision that is
  // not spoken here, by name); corrupt.
  static Result<std::unique_ptr<McpClient>> connect(std::unique_ptr<McpTransport> transport,
                                                    McpClientOptions options = {});
  ~McpClient() override;

  // All pages. Also clears tools_have_changed(). Fails: as request(); invalid (more than
  // kMaxToolsPerServer).
  Result<std::vector<McpToolPage::Listed>> list_tools();
  // Whether the server has said that its list is not what it was.
  bool tools_have_changed() const { return tools_changed_.load(); }
  // Fails: as request(), and as read_call_result.
  Result<ToolReply> call_tool(const std::string& name, const Json& arguments,
                              const ToolCallTerms& terms);
  Status ping();
  // The server's name and version, as it says.
  std::string server() const;
  // The revision of the protocol.
  std::string revision() const;

 private:
  struct PendingReply;
  class PendingEntry;
  struct Reply;  // of one attempt

  McpClient(std::unique_ptr<McpTransport> transport, McpClientOptions options)
      : transport_(std::move(transport)), options_(std::move(options)) {}

  // One request, again in a new session if the server has lost this one. A deadline or a
  // cancellation is reported to the server. Fails: deadline, cancelled, unavailable, corrupt; with
  // what the server says: unsupported (no such method), invalid (parameters), else unavailable.
  Result<Json> request(std::string_view method, const Json& params, const ToolCallTerms& terms);
  Result<Reply> request_once(std::string_view method, const Json& params,
                             const ToolCallTerms& terms);
  Status send_and_wait(PendingReply& reply, const std::string& message, const ToolCallTerms& terms);
  void tell_cancelled(uint64_t id, const Status& reason);
  Status begin_session();
  Status renew_session(uint64_t lost);

  void on_message(std::string_view message) override;
  void on_hearing() override;
  void on_closed(const Status& reason) override;
  void take_response(RpcMessage& message);
  void answer_request(const RpcMessage& message);
  void take_notification(const RpcMessage& message);
  void log(std::string_view text) const;

  std::unique_ptr<McpTransport> transport_;
  McpClientOptions options_;
  std::atomic<bool> tools_changed_{false};
  std::atomic<uint64_t> session_{0};  // how many have begun
  Mutex renewing_;

  mutable Mutex mutex_;  // of what follows
  Condition answered_;
  uint64_t next_id_ = 1;
  std::map<uint64_t, PendingReply*> pending_;
  Status closed_;  // not ok: the transport has ended
  std::string server_;
  std::string revision_;
  bool has_tools_ = false;
  bool has_changes_ = false;  // the server says when its list changes
};

}  // namespace ruv
