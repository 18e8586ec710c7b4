// McpServer: the tools of a registry, offered to any MCP client. It knows no transport: messages go
// in by receive() and come out by a function.
//
// Offered: tools, with pages; ping; cancellation; progress, where a call asks for it. Lists of
// messages (batches of revision 2025-03-26) are refused.
#pragma once

#include <atomic>
#include <functional>
#include <list>
#include <string>
#include <string_view>

#include "base/thread.h"
#include "tools/mcp/json_rpc.h"
#include "tools/registry.h"

namespace ruv {

struct McpServerOptions {
  std::string name = "ruvllm";
  std::string version = "0";
  std::string instructions = {};  // for the client's model; empty: none
  // Calls that run at the same time; others are refused.
  size_t max_calls = 16;
  // From the start of a call.
  int64_t call_timeout_ms = 3600 * 1000;
  // Tools in one page of a list.
  size_t page_size = 100;
};

class McpServer {
 public:
  // `send` gets one message on one line; it is called by one thread at a time, and must not use the
  // server. The registry must live longer.
  McpServer(const ToolRegistry& registry, McpServerOptions options,
            std::function<void(std::string_view)> send)
      : registry_(registry), options_(std::move(options)), send_(std::move(send)) {}
  // Cancels the calls that run and waits for them; their answers are not sent.
  ~McpServer();

  // Takes one message. Calls of tools run in threads of their own; all else is answered before it
  // returns. What is wrong is answered as JSON-RPC wants it. One thread at a time.
  void receive(std::string_view message);
  // Waits until no call runs. The thread of receive().
  void finish();

 private:
  // A call in its thread. The owner of the list joins it once it is done.
  struct RunningCall {
    Json id = {};
    ToolRegistry::Entry tool = {};
    std::string arguments = {};
    Json progress_token = {};
    Cancellation cancellation = {};
    std::atomic<bool> is_done{false};
    Thread thread = {};
  };

  void answer(std::string_view message);
  void take_request(const RpcMessage& message);
  void take_notification(const RpcMessage& message);
  void initialize(const RpcMessage& message);
  void list_tools(const RpcMessage& message);
  void start_call(const RpcMessage& message);
  void run_call(RunningCall& call);
  std::string answer_to(RunningCall& call, const ToolCallTerms& terms) const;
  void refuse(const Json& id, RpcCode code, std::string_view reason);
  void join_finished();

  const ToolRegistry& registry_;
  McpServerOptions options_;
  std::function<void(std::string_view)> send_;
  Mutex sending_;
  bool is_initialized_ = false;
  std::list<RunningCall> calls_;
};

}  // namespace ruv
