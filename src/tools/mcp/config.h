// The file that lists MCP servers, in the form that other programs use, too:
//
//   {"mcpServers": {
//     "files": {"command": "npx", "args": ["-y", "server-files", "/srv"], "env": {"A": "b"},
//               "cwd": "/srv"},
//     "search": {"url": "https://example.org/mcp", "headers": {"Authorization": "Bearer …"}}
//   }}
//
// "type" may say what the other members say already: "stdio", "http" or "streamable-http".
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "tools/mcp/http_transport.h"

namespace ruv {

// A process to start.
struct McpCommand {
  std::vector<std::string> argv;
  std::vector<std::pair<std::string, std::string>> environment = {};  // besides what is inherited
  std::string folder = {};
};

// Exactly one of `command` and `endpoint` is set.
struct McpServerConfig {
  std::string name;  // begins the names of its tools: letters, digits, '_' and '-'
  std::optional<McpCommand> command = {};
  std::optional<McpEndpoint> endpoint = {};
};

// The servers of a file, in its order. `source` is quoted in errors. Fails: corrupt (not JSON),
// invalid (a member, by name; unknown ones too), unsupported (the transport "sse" of revision
// 2024-11-05).
Result<std::vector<McpServerConfig>> read_mcp_config(std::string_view json,
                                                     std::string_view source);

}  // namespace ruv
