#include "tools/mcp/config.h"

#include <gtest/gtest.h>

namespace ruv {
namespace {

TEST(McpConfig, ReadsBothKinds) {
  const auto configs = read_mcp_config(
      R"({"mcpServers":{"files":{"command":"npx","args":["-y","x"],"env":{"A":"b"},"cwd":"/srv"},)"
      R"("search":{"type":"http","url":"https://example.org/mcp",)"
      R"("headers":{"Authorization":"Bearer x","X-Empty":""}}}})",
      "c");
  ASSERT_TRUE(configs) << configs.error().message();
  const McpCommand& command = *configs->at(0).command;
  EXPECT_EQ(configs->at(0).name, "files");
  EXPECT_EQ(command.argv, (std::vector<std::string>{"npx", "-y", "x"}));
  EXPECT_EQ(command.environment.at(0).second, "b");
  EXPECT_EQ(command.folder, "/srv");
  const McpEndpoint& endpoint = *configs->at(1).endpoint;
  EXPECT_EQ(endpoint.url, "https://example.org/mcp");
  EXPECT_EQ(endpoint.headers, (std::vector<std::string>{"Authorization: Bearer x", "X-Empty;"}));
}

TEST(McpConfig, RefusesByName) {
  const std::pair<std::string, std::string> cases[] = {
      {"[]", "c: must be an object with \"mcpServers\", an object"},
      {R"({"mcpServers":{},"servers":{}})", "c: unknown field 'servers'"},
      {R"({"mcpServers":{"a":1}})", "c: mcpServers.a: must be an object"},
      {R"({"mcpServers":{"a":{}}})", "c: mcpServers.a: 'command' is required"},
      {R"({"mcpServers":{"a":{"command":"x","timeout":1}}})",
       "c: mcpServers.a: unknown field 'timeout'"},
      {R"({"mcpServers":{"a":{"command":"x","url":"http://y"}}})",
       "c: mcpServers.a: unknown field 'command'"},
      {R"({"mcpServers":{"a":{"command":"x","args":"y"}}})",
       "c: mcpServers.a: 'args' must be a list of strings, not a string"},
      {R"({"mcpServers":{"a":{"command":"x","env":{"A=":"y"}}}})",
       "c: mcpServers.a: 'env.A=' contains a character that is not allowed"},
      {R"({"mcpServers":{"a":{"url":"ftp://y"}}})",
       "c: mcpServers.a: 'url' must begin with http:// or https://"},
      {R"({"mcpServers":{"a":{"url":"http://y","headers":{"A":"b\r\nC: d"}}}})",
       "c: mcpServers.a: 'headers.A' contains a character that is not allowed"},
      {R"({"mcpServers":{"a":{"url":"http://y","headers":{"A b":""}}}})",
       "c: mcpServers.a: 'headers.A b' is not a header's name"},
      {R"({"mcpServers":{"a":{"type":"stdio","url":"http://y"}}})",
       "c: mcpServers.a: 'type' is \"stdio\", but the server has an url"},
  };
  for (const auto& [text, message] : cases) {
    const auto configs = read_mcp_config(text, "c");
    ASSERT_FALSE(configs) << text;
    EXPECT_EQ(configs.error().message(), message);
  }
  const auto old = read_mcp_config(R"({"mcpServers":{"a":{"type":"sse","url":"http://y"}}})", "c");
  EXPECT_EQ(old.error().code(), Code::unsupported);
  EXPECT_FALSE(read_mcp_config(R"({"mcpServers":{"a b":{"command":"x"}}})", "c"));
}

}  // namespace
}  // namespace ruv
