// ToolBox: the tools of a conversation at the command line, which are programs described by files,
// and those of MCP servers.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "command_line.h"
#include "ruv/conversation.h"
#include "ruv/engine.h"
#include "tools/mcp/servers.h"
#include "tools/registry.h"

namespace ruv {

// The flags that are about tools.
struct ToolUse {
  std::vector<std::string> files;
  std::vector<std::string> servers;
  std::string choice = "auto";
  int64_t max_rounds = 8;
  bool yes = false;
  bool unsandboxed = false;

  bool any() const { return !files.empty() || !servers.empty(); }
};

void add_tool_flags(CommandLine& line, ToolUse& use);
// Why the flags do not belong together, if so.
std::string objection_to(const CommandLine& line, const ToolUse& use);

// Not for several threads at once.
class ToolBox {
 public:
  // Starts all servers and waits for them; one that fails is said, and the others can be used.
  // `line` and the engine must live longer. Fails: as open_command_tools, read_mcp_config and
  // ToolRegistry::set_tools.
  // The files are read before any server is started.
  static Result<std::unique_ptr<ToolBox>> open(const CommandLine& line, const ToolUse& use,
                                               Engine& engine);

  // The list for the model, after a look at servers whose tools have changed. Tools whose schemas
  // cannot be checked are said and left out. No value: there are none.
  TemplateValue offered();
  const ToolRegistry& registry() const { return registry_; }

 private:
  ToolBox(const CommandLine& line, Engine& engine);
  // The servers of all files, in one list. Fails: as read_mcp_config; invalid (a name is twice).
  Status open_servers(const std::vector<std::string>& files);
  // Those that were not said before.
  void say_problems();

  const CommandLine& line_;
  ToolRegistry registry_;
  McpServers servers_;
  std::map<std::string, bool> said_;  // notes, each once
  uint64_t revision_ = 0;             // of the registry when `offered_` was made
  TemplateValue offered_;
};

}  // namespace ruv
