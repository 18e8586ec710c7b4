// An MCP server that is a process of this machine: messages are lines on its standard input and
// output.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/process.h"
#include "base/thread.h"
#include "tools/mcp/message_lines.h"
#include "tools/mcp/transport.h"

namespace ruv {

// One thread starts the process and does all reading and writing. The process has the user's
// rights: a server that is configured is trusted.
class StdioTransport final : public McpTransport {
 public:
  explicit StdioTransport(ProcessOptions options) : options_(std::move(options)) {}
  ~StdioTransport() override { close(); }

  // Returns when the process runs. Fails: as Process::start; unsupported (no threads).
  Status open(McpListener& listener) override;
  // Queues the message. Fails: unavailable (it has ended, with what it last wrote to its standard
  // error; or too much waits to be read by it).
  Result<McpSent> send(std::string_view message, const McpSendTerms& terms) override;
  void begin_session(std::string_view) override {}
  void forget_session() override {}
  // Closes the server's input; a server that does not end is asked to after 2 s, and killed after
  // 2 s more.
  void close() override;

 private:
  void work();
  void serve(Process& process);
  void finish(Process& process);
  Status take_output(const ProcessTurn& turn);
  void end_with(Status reason);

  ProcessOptions options_;
  McpListener* listener_ = nullptr;
  Thread thread_;
  MessageLines lines_{16 << 20};
  std::string errors_;  // the end of its standard error

  Mutex mutex_;  // of what follows
  Condition changed_;
  const Process* process_ = nullptr;  // while it runs
  bool is_started_ = false;           // or failed to
  bool is_closing_ = false;
  Status ended_;  // not ok: nothing can be sent
  std::string outbox_;
};

}  // namespace ruv
