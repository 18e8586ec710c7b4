// McpServers: the MCP servers of a program, and their tools in its registry.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tools/mcp/client.h"
#include "tools/mcp/config.h"
#include "tools/registry.h"

namespace ruv {

struct McpServersOptions {
  // "NAME=value" for servers that are processes: the caller's choice of its own environment, for
  // example PATH, HOME, USER, LANG and TERM. A server's own "env" replaces and adds.
  std::vector<std::string> environment = {};
  // The name is that of the server. Any thread. May be null.
  std::function<void(const std::string& server, std::string_view text)> on_log = {};
  // The name that servers see, and how long they may take to answer a list.
  McpClientOptions client = {};
};

// Something of a server that cannot be used; the rest can.
struct McpProblem {
  std::string server;
  Status status;
};

// Not for several threads at once. The tools that are in a registry keep their sessions open.
class McpServers {
 public:
  // Connects to all servers at the same time and waits for them. Those that fail are in problems().
  static McpServers open(const std::vector<McpServerConfig>& configs,
                         const McpServersOptions& options = {});
  // With sessions that are open already, for tests.
  static McpServers of(std::vector<std::pair<std::string, std::shared_ptr<McpClient>>> clients);

  // Sets the tools of every server that was not listed yet or has changed, named
  // "<server>_<tool>", with the source "MCP server <name>". Asks no server that has not changed, so
  // that it can be called before every turn. Tools that are refused are in problems(): names that
  // break the rules, or more than one tool of a name; a name that is taken refuses all of the
  // server's tools. Tools of servers elsewhere need consent, whatever they say of themselves.
  void refresh(ToolRegistry& registry);
  // Those of open() and of the last list of each server.
  std::vector<McpProblem> problems() const;
  size_t n_open() const { return servers_.size(); }

 private:
  struct Server {
    std::string name;
    std::shared_ptr<McpClient> client;
    bool is_process;  // of this machine, where arguments stay
    bool is_listed = false;
    std::vector<McpProblem> problems = {};
  };
  static void refresh_one(Server& server, ToolRegistry& registry);

  std::vector<Server> servers_;
  std::vector<McpProblem> failed_;
};

}  // namespace ruv
