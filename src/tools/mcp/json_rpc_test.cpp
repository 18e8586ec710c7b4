#include "tools/mcp/json_rpc.h"

#include <gtest/gtest.h>

namespace ruv {
namespace {

using Kind = RpcMessage::Kind;

TEST(JsonRpc, ReadsWhatItWrites) {
  const auto request = read_rpc(rpc_request(7, "tools/call", {{"name", "x"}}));
  ASSERT_TRUE(request) << request.error().message();
  EXPECT_EQ(request->at(0).kind, Kind::request);
  EXPECT_EQ(request->at(0).id, Json(7));
  EXPECT_EQ(request->at(0).method, "tools/call");
  EXPECT_EQ(request->at(0).params.dump(), R"({"name":"x"})");
  const auto note = read_rpc(rpc_notification("notifications/initialized"));
  EXPECT_EQ(note->at(0).kind, Kind::notification);
  EXPECT_TRUE(note->at(0).params.is_object());
  const auto result = read_rpc(rpc_result("a", Json::object()));
  EXPECT_EQ(result->at(0).kind, Kind::response);
  EXPECT_FALSE(result->at(0).error);
  const auto error = read_rpc(rpc_error({}, RpcCode::parse_error, "no"));
  EXPECT_EQ(error->at(0).error->code, -32700);
  EXPECT_EQ(error->at(0).error->message, "no");
  EXPECT_EQ(read_rpc("[" + rpc_notification("a") + "," + rpc_notification("b") + "]")->size(), 2u);
}

TEST(JsonRpc, RefusesWhatIsNone) {
  for (const char* text :
       {"", "1", "{}", "[]", "[1]", R"({"jsonrpc":"1.0","method":"a"})",
        R"({"jsonrpc":"2.0","method":1})", R"({"jsonrpc":"2.0","method":"a","id":null})",
        R"({"jsonrpc":"2.0","method":"a","id":1.5})", R"({"jsonrpc":"2.0","method":"a","id":{}})",
        R"({"jsonrpc":"2.0","method":"a","params":[1]})", R"({"jsonrpc":"2.0","id":1})",
        R"({"jsonrpc":"2.0","id":1,"result":1,"error":{"code":1}})",
        R"({"jsonrpc":"2.0","id":1,"error":{"message":"x"}})",
        R"({"jsonrpc":"2.0","id":1,"error":5})", R"({"jsonrpc":"2.0","result":1})"}) {
    const auto read = read_rpc(text);
    ASSERT_FALSE(read) << text;
    EXPECT_EQ(read.error().code(), Code::corrupt);
  }
  EXPECT_FALSE(read_rpc(std::string(1000, '[')));
  EXPECT_FALSE(read_rpc(std::string(kMaxRpcBytes + 1, ' ')));
}

}  // namespace
}  // namespace ruv
