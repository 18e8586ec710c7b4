// gRPC over a socket, in front of a scripted engine; and the texts that messages become.
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <ruvllm/v1/ruvllm.grpc.pb.h>

#include <cmath>
#include <thread>

#include "net/one_model.h"
#include "net/openai/routes.h"
#include "net/scripted_engine.h"
#include "rpc/message_json.h"
#include "rpc/rpc_failure.h"
#include "rpc/rpc_server.h"

namespace ruv {
namespace {

namespace v1 = ruvllm::v1;

class RpcTest : public ::testing::Test {
 protected:
  void SetUp() override {
    service_ = make_service(make_server_parts(), engine_, text_, {"scripted"});
    const ServerOptions options{.port = 0};
    server_ = *HttpServer::create(options, api_routes(models_));
    auto rpc = RpcServer::create(*server_, options,
                                 {.port = 0, .is_ready = [] { return true; }, .max_calls = 3});
    ASSERT_TRUE(rpc) << rpc.error().message();
    rpc_ = std::move(*rpc);
    thread_ = std::thread([this] { EXPECT_TRUE(server_->run()); });
    stub_ = v1::Ruvllm::NewStub(grpc::CreateChannel("127.0.0.1:" + std::to_string(rpc_->port()),
                                                    grpc::InsecureChannelCredentials()));
  }
  void TearDown() override {
    server_->stop();
    thread_.join();
    rpc_.reset();
    service_.beside.reset();
  }
  grpc::Status generate(const v1::GenerateRequest& request, std::string& text) {
    grpc::ClientContext context;
    const auto reader = stub_->Generate(&context, request);
    v1::GenerateEvent event;
    while (reader->Read(&event)) {
      for (const auto& choice : event.choices()) text += choice.text();
    }
    return reader->Finish();
  }

  ByteText text_;
  OpenAiService service_;
  OneModel models_{service_};
  std::unique_ptr<HttpServer> server_;
  ScriptedEngine engine_;  // destroyed before the server
  std::unique_ptr<RpcServer> rpc_;
  std::unique_ptr<v1::Ruvllm::Stub> stub_;
  std::thread thread_;
};

Event piece(std::string text) {
  Event event;
  event.text = std::move(text);
  event.ids = {0};
  return event;
}

Script script_of(std::vector<Event> events) {
  Script script;
  script.events = std::move(events);
  return script;
}

TEST_F(RpcTest, StreamsWhatTheEngineWrites) {
  engine_.set_scripts({script_of({piece("one "), piece("two"), piece("\n\ndata: x\n\n")})});
  v1::GenerateRequest request;
  request.set_prompt("ask");
  std::string text;
  const grpc::Status status = generate(request, text);
  EXPECT_TRUE(status.ok()) << status.error_message();
  EXPECT_EQ(text, "one two\n\ndata: x\n\n");
  EXPECT_EQ(engine_.submitted().size(), 1U);
}

TEST_F(RpcTest, AnErrorInsideAStreamIsTheStatus) {
  Script script = script_of({piece("one ")});
  script.finish = FinishReason::error;
  script.status = Status(Code::internal, "the script fails here");
  engine_.set_scripts({script});
  v1::GenerateRequest request;
  request.set_prompt("ask");
  std::string text;
  const grpc::Status status = generate(request, text);
  EXPECT_EQ(text, "one ");
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INTERNAL);
  EXPECT_EQ(status.error_message(), "the script fails here");
}

TEST_F(RpcTest, RefusesCallsBeyondItsNumber) {
  Script script = script_of(std::vector<Event>(1000, piece("x")));
  script.pause = std::chrono::milliseconds(20);
  engine_.set_scripts({script});
  v1::GenerateRequest request;
  request.set_prompt("ask");
  std::vector<std::unique_ptr<grpc::ClientContext>> contexts;
  std::vector<std::unique_ptr<grpc::ClientReader<v1::GenerateEvent>>> readers;
  for (int i = 0; i < 3; ++i) {
    contexts.push_back(std::make_unique<grpc::ClientContext>());
    readers.push_back(stub_->Generate(contexts.back().get(), request));
    v1::GenerateEvent event;
    ASSERT_TRUE(readers.back()->Read(&event));
  }
  std::string text;
  const grpc::Status status = generate(request, text);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_EQ(status.error_message(), "too many calls at once");
  for (auto& context : contexts) context->TryCancel();
  for (auto& reader : readers) {
    EXPECT_EQ(reader->Finish().error_code(), grpc::StatusCode::CANCELLED);
  }
}

// One that never ran has calls that wait.
TEST(RpcServerTest, EndsCallsThatWereNotBegun) {
  ByteText text;
  ScriptedEngine engine;
  OpenAiService service = make_service(make_server_parts(), engine, text, {"scripted"});
  OneModel models(service);
  const ServerOptions options{.port = 0};
  const auto server = *HttpServer::create(options, api_routes(models));
  auto rpc = *RpcServer::create(*server, options, {.port = 0, .is_ready = [] { return true; }});
  const auto stub = v1::Ruvllm::NewStub(grpc::CreateChannel(
      "127.0.0.1:" + std::to_string(rpc->port()), grpc::InsecureChannelCredentials()));
  grpc::ClientContext context;
  v1::GenerateRequest request;
  const auto reader = stub->Generate(&context, request);
  rpc.reset();
  // The end of the connection may reach the client before the status does.
  const grpc::StatusCode code = reader->Finish().error_code();
  EXPECT_TRUE(code == grpc::StatusCode::UNAVAILABLE || code == grpc::StatusCode::CANCELLED) << code;
  service.beside.reset();
}

TEST(BodyOf, WritesWhatIsSet) {
  v1::ChatRequest request;
  request.set_max_tokens(9'007'199'254'740'991);
  request.set_temperature(0);
  request.set_logprobs(false);
  request.add_stop("a\"b");
  request.add_stop("");
  auto& message = *request.add_messages();
  message.set_role("assistant");
  message.set_content("");
  message.set_extra_json(R"({"cache_control": {}})");
  auto& call = *message.add_tool_calls();
  call.mutable_function()->set_arguments("{}");
  request.set_tools_json("[ 1 ]");
  request.set_extra_json(" {\"logit_bias\": {\"1\": 1e0}} ");
  const auto body = body_of(request, R"("stream":true)", {});
  ASSERT_TRUE(body) << body.error().message();
  EXPECT_EQ(
      *body,
      R"({"stream":true,"messages":[{"role":"assistant","content":"","tool_calls":[)"
      R"({"function":{"arguments":"{}"}}],"cache_control": {}}],"max_tokens":9007199254740991,)"
      R"("temperature":0.0,"stop":["a\"b",""],"logprobs":false,"tools":[ 1 ],)"
      R"("logit_bias": {"1": 1e0}})");
  EXPECT_EQ(*body_of(v1::ChatRequest(), "", {}), "{}");
}

TEST(BodyOf, RefusesByName) {
  const auto fault = [](auto fill) {
    v1::GenerateRequest request;
    fill(request);
    constexpr std::array<std::string_view, 1> kRefused{"stream"};
    const auto body = body_of(request, "", kRefused);
    return body ? "taken: " + *body : body.error().message();
  };
  EXPECT_EQ(fault([](auto& r) { r.set_top_p(std::nan("")); }), "'top_p' is not finite");
  EXPECT_EQ(fault([](auto& r) { r.set_extra_json("[]"); }), "'extra_json' is not a JSON object");
  EXPECT_EQ(fault([](auto& r) { r.set_extra_json(R"({"stream": true})"); }),
            "'extra_json' has 'stream', which is not possible over gRPC");
  EXPECT_EQ(fault([](auto& r) {
              r.set_json_schema_json("{}");
              r.set_extra_json(R"({"json_schema": {}})");
            }),
            "'extra_json' has 'json_schema', which has been set already");
  for (const std::string text : {R"({"a": 1}, "b": {"c": 1})", "", "{", R"({"a": 1},)"}) {
    const std::string said = fault([&](auto& r) { r.set_extra_json(text); });
    EXPECT_TRUE(said.starts_with("'extra_json' is not JSON: ")) << said;
  }
  const std::string deep(1000, '[');
  EXPECT_TRUE(fault([&](auto& r) {
                r.set_json_schema_json(deep);
              }).starts_with("'json_schema_json' is not JSON: "));
}

TEST(RpcFailure, HasTheStatusOfTheError) {
  const RpcFailure refused = failure_of(error_response({429, "rate_limit_error", "m", "", "c"}));
  EXPECT_EQ(refused.status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_EQ(refused.status.error_message(), "m");
  EXPECT_EQ(refused.retry_after, "1");
  EXPECT_EQ(refused.json, error_json({429, "rate_limit_error", "m", "", "c"}));
  const auto of_event = [](const ApiError& error) {
    return failure_of_event(error_json(error)).status.error_code();
  };
  EXPECT_EQ(of_event(api_error(Status(Code::deadline, "late"))),
            grpc::StatusCode::DEADLINE_EXCEEDED);
  EXPECT_EQ(of_event(api_error(Status(Code::unavailable, "full"))),
            grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_EQ(of_event(bad_request("x", "wrong")), grpc::StatusCode::INVALID_ARGUMENT);
  // Metadata is short.
  const RpcFailure longest = failure_of(error_response(bad_request("", std::string(9000, 'x'))));
  EXPECT_LT(longest.json.size(), 1500U);
}

}  // namespace
}  // namespace ruv
