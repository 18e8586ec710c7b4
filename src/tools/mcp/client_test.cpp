#include "tools/mcp/client.h"

#include <gtest/gtest.h>

#include <thread>

#include "tools/mcp/scripted_transport.h"
#include "tools/mcp/servers.h"

namespace ruv {
namespace {

Json listed(std::string name) {
  return {{"name", std::move(name)}, {"inputSchema", {{"type", "object"}}}};
}

// A server with two pages of tools.
struct ScriptedServer {
  std::string revision = "2025-06-18";
  std::vector<std::string> tools{"one", "two"};
  std::function<std::vector<std::string>(const RpcMessage&)> on_call =
      [](const RpcMessage& call) -> std::vector<std::string> {
    const std::string text = call.params["arguments"].dump();
    const Json part{{"type", "text"}, {"text", text}};
    return {rpc_result(call.id, {{"content", Json::array({part})}})};
  };

  std::vector<std::string> operator()(const RpcMessage& message) const {
    if (message.method == "initialize") {
      return {rpc_result(message.id, {{"protocolVersion", revision},
                                      {"capabilities", {{"tools", {{"listChanged", true}}}}},
                                      {"serverInfo", {{"name", "test"}, {"version", "1"}}}})};
    }
    if (message.method == "tools/list") return {list(message)};
    if (message.method == "tools/call") return on_call(message);
    if (message.method == "ping") return {rpc_result(message.id, Json::object())};
    return {};
  }

  // One tool for each page.
  std::string list(const RpcMessage& message) const {
    const Json* cursor = message.params.find("cursor");
    const size_t at = cursor == nullptr ? 0 : std::stoul(cursor->get<std::string>());
    Json result{{"tools", Json::array({listed(tools.at(at))})}};
    if (at + 1 < tools.size()) result["nextCursor"] = std::to_string(at + 1);
    return rpc_result(message.id, std::move(result));
  }
};

struct Connected {
  ScriptedTransport* transport;
  std::unique_ptr<McpClient> client;
};

Connected connect(const ScriptedServer& server, McpClientOptions options = {}) {
  auto transport = std::make_unique<ScriptedTransport>(server);
  ScriptedTransport* const seen = transport.get();
  auto client = McpClient::connect(std::move(transport), std::move(options));
  EXPECT_TRUE(client) << client.error().message();
  return {seen, client ? std::move(*client) : nullptr};
}

TEST(McpClient, BeginsASession) {
  const Connected peer = connect({.revision = "2025-03-26"});
  ASSERT_EQ(peer.transport->sent.size(), 2u);
  const RpcMessage first = read_rpc(peer.transport->sent[0])->front();
  EXPECT_EQ(first.method, "initialize");
  EXPECT_EQ(first.params["protocolVersion"], Json("2025-06-18"));
  EXPECT_EQ(read_rpc(peer.transport->sent[1])->front().method, "notifications/initialized");
  EXPECT_EQ(peer.transport->sessions, std::vector<std::string>{"2025-03-26"});
  EXPECT_EQ(peer.client->server(), "test 1");
  EXPECT_EQ(peer.client->revision(), "2025-03-26");
  EXPECT_TRUE(peer.client->ping().ok());
}

TEST(McpClient, RefusesARevisionByName) {
  const auto client = McpClient::connect(
      std::make_unique<ScriptedTransport>(ScriptedServer{.revision = "2199-01-01"}));
  ASSERT_FALSE(client);
  EXPECT_EQ(client.error().code(), Code::unsupported);
  EXPECT_EQ(client.error().message(),
            "the server speaks revision '2199-01-01' of MCP; spoken here: 2025-06-18, 2025-03-26, "
            "2024-11-05");
}

TEST(McpClient, ListsPagesAndCalls) {
  const Connected peer = connect({});
  const auto tools = peer.client->list_tools();
  ASSERT_TRUE(tools) << tools.error().message();
  ASSERT_EQ(tools->size(), 2u);
  EXPECT_EQ(tools->at(1).name, "two");
  const auto reply = peer.client->call_tool("one", {{"a", 1}}, {});
  ASSERT_TRUE(reply) << reply.error().message();
  EXPECT_EQ(reply->text, R"({"a":1})");
}

TEST(McpClient, HearsOfChanges) {
  const Connected peer = connect({});
  EXPECT_FALSE(peer.client->tools_have_changed());
  peer.transport->say(rpc_notification("notifications/tools/list_changed"));
  EXPECT_TRUE(peer.client->tools_have_changed());
  ASSERT_TRUE(peer.client->list_tools());
  EXPECT_FALSE(peer.client->tools_have_changed());
  peer.transport->begin_hearing();
  EXPECT_TRUE(peer.client->tools_have_changed());
}

TEST(McpClient, AnswersPingsAndRefusesOtherRequests) {
  const Connected peer = connect({});
  peer.transport->say(rpc_request("p", "ping", {}));
  EXPECT_EQ(peer.transport->sent.back(), R"({"jsonrpc":"2.0","id":"p","result":{}})");
  peer.transport->say(rpc_request(5, "sampling/createMessage", {}));
  const RpcMessage refusal = read_rpc(peer.transport->sent.back())->front();
  EXPECT_EQ(refusal.error->code, -32601);
  EXPECT_EQ(refusal.id, Json(5));
}

TEST(McpClient, LogsWhatItIgnores) {
  std::string log;
  const Connected peer =
      connect({}, {.on_log = [&](std::string_view text) { log += std::string(text) + "|"; }});
  peer.transport->say("Listening…");
  peer.transport->say(
      rpc_notification("notifications/message", {{"level", "warning"}, {"data", {{"n", 1}}}}));
  peer.transport->say(rpc_result(99, Json::object()));  // of a request that is over
  peer.transport->say(rpc_error({}, RpcCode::parse_error, "what?"));
  EXPECT_TRUE(log.starts_with("ignored: ")) << log;
  EXPECT_TRUE(log.ends_with("|warning: {\"n\":1}|the server says: what? (-32700)|")) << log;
}

TEST(McpClient, GivesErrorsOfTheServer) {
  ScriptedServer server;
  server.on_call = [](const RpcMessage& call) -> std::vector<std::string> {
    return {rpc_error(call.id, RpcCode::invalid_params, "Unknown tool: x")};
  };
  const Connected peer = connect(server);
  const auto reply = peer.client->call_tool("x", Json::object(), {});
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().code(), Code::invalid);
  EXPECT_EQ(reply.error().message(), "the server says: Unknown tool: x (-32602)");
}

TEST(McpClient, TellsTheServerOfDeadlinesAndCancellations) {
  ScriptedServer server;
  server.on_call = [](const RpcMessage&) { return std::vector<std::string>(); };
  const Connected peer = connect(server);
  EXPECT_EQ(peer.client->call_tool("one", {}, {.timeout_ms = 20}).error().code(), Code::deadline);
  RpcMessage note = read_rpc(peer.transport->sent.back())->front();
  EXPECT_EQ(note.method, "notifications/cancelled");
  EXPECT_EQ(note.params["requestId"], read_rpc(peer.transport->sent.end()[-2])->front().id);
  Cancellation cancellation;
  std::thread canceller([&] { cancellation.cancel(); });
  const auto reply = peer.client->call_tool("one", {}, {.cancellation = &cancellation});
  canceller.join();
  EXPECT_EQ(reply.error().code(), Code::cancelled);
}

TEST(McpClient, EndsWithItsServer) {
  ScriptedServer server;
  ScriptedTransport* transport = nullptr;
  server.on_call = [&](const RpcMessage&) {
    transport->end({Code::unavailable, "it ended"});
    return std::vector<std::string>();
  };
  const Connected peer = connect(server);
  transport = peer.transport;
  EXPECT_EQ(peer.client->call_tool("one", {}, {}).error().message(), "it ended");
}

TEST(McpClient, RenewsALostSession) {
  const Connected peer = connect({});
  peer.transport->lose_next = true;
  const auto reply = peer.client->call_tool("one", {{"a", 1}}, {});
  ASSERT_TRUE(reply) << reply.error().message();
  EXPECT_EQ(peer.transport->sessions.size(), 2u);
  EXPECT_TRUE(peer.client->tools_have_changed());
}

TEST(McpClient, RefusesTooManyTools) {
  ScriptedServer server;
  server.tools.assign(kMaxToolsPerServer + 1, "same");
  const Connected peer = connect(server);
  EXPECT_EQ(peer.client->list_tools().error().code(), Code::invalid);
}

TEST(McpServers, PutsToolsIntoTheRegistry) {
  ScriptedServer server;
  server.tools = {"one", "a.b", "one", "two"};
  Connected peer = connect(server);
  ToolRegistry registry;
  McpServers servers = McpServers::of({{"s", std::move(peer.client)}});
  servers.refresh(registry);
  ASSERT_EQ(registry.tools().size(), 2u);
  EXPECT_EQ(registry.find("s_two")->source(), "MCP server s");
  EXPECT_EQ(registry.find("s_one")->tool().call(Json{{"x", 2}}, {})->text, R"({"x":2})");
  const auto problems = servers.problems();
  ASSERT_EQ(problems.size(), 2u);
  EXPECT_NE(problems[0].status.message().find("'s_a.b'"), std::string::npos);
  EXPECT_EQ(problems[1].status.message(), "the server lists 'one' twice");
  const size_t n_sent = peer.transport->sent.size();
  servers.refresh(registry);  // asks nothing
  EXPECT_EQ(peer.transport->sent.size(), n_sent);
  peer.transport->say(rpc_notification("notifications/tools/list_changed"));
  servers.refresh(registry);
  EXPECT_EQ(peer.transport->sent.size(), n_sent + 4);
}

TEST(McpServers, NamesServersThatDoNotStart) {
  const auto configs = read_mcp_config(
      R"({"mcpServers":{"none":{"command":"no-such-program"},"false":{"command":"false"}}})", "c");
  ASSERT_TRUE(configs);
  const McpServers servers = McpServers::open(*configs);
  EXPECT_EQ(servers.n_open(), 0u);
  const auto problems = servers.problems();
  ASSERT_EQ(problems.size(), 2u);
  EXPECT_EQ(problems[0].server, "none");
  EXPECT_EQ(problems[0].status.code(), Code::not_found);
  EXPECT_EQ(problems[1].status.code(), Code::unavailable);
}

}  // namespace
}  // namespace ruv
