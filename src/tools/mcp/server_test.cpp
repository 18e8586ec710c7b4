#include "tools/mcp/server.h"

#include <gtest/gtest.h>

#include "tools/scripted_tool.h"

namespace ruv {
namespace {

std::shared_ptr<Tool> tool_of(std::string name, ScriptedTool::Answer answer) {
  return std::make_shared<ScriptedTool>(ToolSpec{.name = std::move(name), .description = {}},
                                        std::move(answer));
}

// A server, and what it has sent.
struct ServerPeer {
  ToolRegistry registry;
  std::vector<std::string> sent;
  std::unique_ptr<McpServer> server;

  explicit ServerPeer(std::vector<std::shared_ptr<Tool>> tools, McpServerOptions options = {}) {
    EXPECT_TRUE(registry.set_tools("test", std::move(tools)).ok());
    server = std::make_unique<McpServer>(
        registry, std::move(options),
        [this](std::string_view message) { sent.emplace_back(message); });
  }
  // The last message after one of the client's, when no call runs any more.
  RpcMessage ask(std::string_view method, Json params, const Json& id = 1) {
    server->receive(rpc_request(id, method, std::move(params)));
    server->finish();
    return sent.empty() ? RpcMessage() : read_rpc(sent.back())->front();
  }
  void begin() { ask("initialize", {{"protocolVersion", "2025-06-18"}}); }
};

TEST(McpServer, BeginsASession) {
  ServerPeer peer({}, {.name = "n", .version = "v", .instructions = "be kind"});
  EXPECT_EQ(peer.ask("ping", {}).result.dump(), "{}");
  EXPECT_EQ(peer.ask("tools/list", {}).error->code, -32600);
  EXPECT_EQ(peer.ask("initialize", {}).error->code, -32602);
  EXPECT_EQ(peer.ask("initialize", {{"protocolVersion", "2199-01-01"}}).result.dump(),
            R"({"protocolVersion":"2025-06-18","capabilities":{"tools":{}},)"
            R"("serverInfo":{"name":"n","version":"v"},"instructions":"be kind"})");
  EXPECT_EQ(peer.ask("initialize", {{"protocolVersion", "2025-06-18"}}).error->code, -32600);
  EXPECT_EQ(peer.ask("prompts/list", {}).error->message,
            "this server does not offer 'prompts/list'");
}

TEST(McpServer, ListsInPages) {
  std::vector<std::shared_ptr<Tool>> tools;
  for (int i = 0; i < 5; ++i) tools.push_back(echo_tool(fmt::format("t{}", i)));
  ServerPeer peer(std::move(tools), {.page_size = 2});
  peer.begin();
  std::string names;
  Json params = Json::object();
  for (int i = 0; i < 3; ++i) {
    const RpcMessage page = peer.ask("tools/list", params);
    for (const Json& tool : page.result["tools"]) names += tool["name"].get<std::string>();
    EXPECT_EQ(page.result.contains("nextCursor"), i < 2);
    if (i < 2) params["cursor"] = page.result["nextCursor"];
    EXPECT_EQ(page.result["tools"][0]["inputSchema"].dump(), R"({"type":"object"})");
  }
  EXPECT_EQ(names, "t0t1t2t3t4");
  for (const char* cursor : {"6", "-1", "x", "1x"})
    EXPECT_EQ(peer.ask("tools/list", {{"cursor", cursor}}).error->code, -32602);
}

TEST(McpServer, CallsTools) {
  const auto fails = [](const Json&, const ToolCallTerms&) -> Result<ToolReply> {
    return fail(Code::unavailable, "queue full");
  };
  const auto structured = [](const Json&, const ToolCallTerms&) {
    return ToolReply{.text = "1", .is_error = true, .structured = {{"n", 1}}};
  };
  ServerPeer peer({echo_tool("echo"), tool_of("fails", fails), tool_of("both", structured)});
  peer.begin();
  EXPECT_EQ(peer.ask("tools/call", {{"name", "echo"}, {"arguments", {{"a", "ä"}}}}).result.dump(),
            R"({"content":[{"type":"text","text":"{\"a\":\"ä\"}"}],"isError":false})");
  EXPECT_EQ(
      peer.ask("tools/call", {{"name", "both"}}).result.dump(),
      R"({"content":[{"type":"text","text":"1"}],"isError":true,"structuredContent":{"n":1}})");
  const RpcMessage failed = peer.ask("tools/call", {{"name", "fails"}});
  EXPECT_EQ(failed.error->code, -32603);
  EXPECT_EQ(failed.error->message, "queue full");
  EXPECT_EQ(peer.ask("tools/call", {{"name", "none"}}).error->code, -32602);
  EXPECT_EQ(peer.ask("tools/call", {}).error->message, "'name' is required");
  EXPECT_EQ(peer.ask("tools/call", {{"name", "echo"}, {"arguments", "x"}}).error->code, -32602);
}

TEST(McpServer, ReportsProgressWhereItIsWanted) {
  const auto works = [](const Json&, const ToolCallTerms& terms) {
    if (terms.on_progress) terms.on_progress({.done = 1, .total = 2, .message = "half"});
    return ToolReply{"done"};
  };
  ServerPeer peer({tool_of("work", works)});
  peer.begin();
  peer.ask("tools/call", {{"name", "work"}});
  EXPECT_EQ(peer.sent.size(), 2u);
  peer.ask("tools/call", {{"name", "work"}, {"_meta", {{"progressToken", "p"}}}});
  ASSERT_EQ(peer.sent.size(), 4u);
  const RpcMessage note = read_rpc(peer.sent[2])->front();
  EXPECT_EQ(note.method, "notifications/progress");
  EXPECT_EQ(note.params["progressToken"], Json("p"));
  EXPECT_EQ(note.params["total"], Json(2));
}

TEST(McpServer, CancelsCallsAndBoundsThem) {
  Mutex mutex;
  Condition changed;
  const auto waits = [&](const Json&, const ToolCallTerms& terms) -> Result<ToolReply> {
    const Cancellation::Watch watch(*terms.cancellation, [&] {
      const Lock lock(mutex);
      changed.notify_all();
    });
    Lock lock(mutex);
    changed.wait(lock, [&] { return terms.is_cancelled(); });
    return fail(Code::cancelled, "");
  };
  ServerPeer peer({tool_of("wait", waits)}, {.max_calls = 2});
  peer.begin();
  const Json call{{"name", "wait"}};
  peer.server->receive(rpc_request(7, "tools/call", call));
  peer.server->receive(rpc_request(7, "tools/call", call));
  EXPECT_EQ(read_rpc(peer.sent.back())->front().error->message, "a request with this id runs");
  peer.server->receive(rpc_request("8", "tools/call", call));
  peer.server->receive(rpc_request(9, "tools/call", call));
  EXPECT_EQ(read_rpc(peer.sent.back())->front().error->message,
            "2 calls run already; try again later");
  const size_t n_sent = peer.sent.size();
  peer.server->receive(rpc_notification("notifications/cancelled", {{"requestId", 7}}));
  peer.server->receive(rpc_notification("notifications/cancelled", {{"requestId", "none"}}));
  peer.server.reset();  // cancels the other, and returns
  EXPECT_EQ(peer.sent.size(), n_sent);
}

TEST(McpServer, AnswersWhatIsNoRequest) {
  ServerPeer peer({});
  const auto code_of = [&](std::string_view message) {
    peer.sent.clear();
    peer.server->receive(message);
    return peer.sent.empty() ? 0 : read_rpc(peer.sent[0])->front().error->code;
  };
  EXPECT_EQ(code_of("{"), -32700);
  EXPECT_EQ(code_of("[]"), -32600);
  EXPECT_EQ(code_of("{}"), -32600);
  EXPECT_EQ(code_of(R"({"jsonrpc":"2.0","method":"notifications/initialized"})"), 0);
  EXPECT_EQ(code_of(R"({"jsonrpc":"2.0","id":1,"result":{}})"), 0);
  EXPECT_EQ(code_of(std::string(kMaxRpcBytes + 2, ' ')), -32700);
}

}  // namespace
}  // namespace ruv
