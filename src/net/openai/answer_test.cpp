#include "net/openai/answer.h"

#include <gtest/gtest.h>

#include <thread>

#include "base/json.h"
#include "net/http/server.h"
#include "net/http/test_client.h"
#include "net/one_model.h"
#include "net/openai/routes.h"
#include "net/scripted_engine.h"

namespace ruv {
namespace {

using std::chrono::milliseconds;

constexpr const char* kChat = "/v1/chat/completions";

std::string body_of(bool stream, int n = 1) {
  return Json{{"model", "scripted"},
              {"messages", {{{"role", "user"}, {"content", "Hi"}}}},
              {"stream", stream},
              {"n", n}}
      .dump();
}

Script endless_script(std::chrono::microseconds pause, size_t text_size = 5) {
  Event event;
  event.ids = {65};
  event.text = std::string(text_size, 'x');
  Script script;
  script.events = {event};
  script.endless = true;
  script.pause = pause;
  return script;
}

class AnswerTest : public ::testing::Test {
 protected:
  void start(ServerOptions options = {}) {
    options.port = 0;
    service_ = make_service(make_server_parts(), engine_, text_, {"scripted"});
    server_ = *HttpServer::create(options, api_routes(models_));
    thread_ = std::thread([this] { EXPECT_TRUE(server_->run()); });
  }
  void TearDown() override {
    server_->stop();
    thread_.join();
  }
  template <class F>
  static bool eventually(F condition) {
    for (int i = 0; i < 4000; ++i) {
      if (condition()) return true;
      std::this_thread::sleep_for(milliseconds(5));
    }
    return false;
  }
  bool idle() const { return engine_.load().n_running == 0; }

  ByteText text_;
  OpenAiService service_;
  OneModel models_{service_};
  std::unique_ptr<HttpServer> server_;
  std::thread thread_;
  ScriptedEngine engine_;  // destroyed before the server
};

TEST_F(AnswerTest, ClosingAStreamCancelsItsWork) {
  start();
  engine_.set_scripts({endless_script(milliseconds(1))});
  TestClient client(server_->port());
  client.send(post_bytes(kChat, body_of(true)));
  ASSERT_TRUE(client.read_until("xxxxx"));
  EXPECT_EQ(engine_.load().n_running, 1);
  client.close();
  EXPECT_TRUE(eventually([&] { return idle(); }));
}

// A client that leaves before the end does not escape its limits.
TEST_F(AnswerTest, WhatAnAnswerUsedIsNotedWhenItsClientLeaves) {
  std::mutex mutex;
  std::vector<RequestRecord> records;
  start({.on_request = [&](const RequestRecord& record) {
    const std::lock_guard lock(mutex);
    records.push_back(record);
  }});
  engine_.set_scripts({endless_script(milliseconds(1))});
  TestClient client(server_->port());
  client.send(post_bytes(kChat, body_of(true)));
  ASSERT_TRUE(client.read_until("xxxxx"));
  client.close();
  ASSERT_TRUE(eventually([&] {
    const std::lock_guard lock(mutex);
    return !records.empty();
  }));
  EXPECT_TRUE(records[0].is_cut);
  EXPECT_EQ(records[0].notes.model, "scripted");
  EXPECT_GT(records[0].notes.n_prompt_tokens, 0);
  EXPECT_GT(records[0].notes.n_generated_tokens, 0);
  EXPECT_TRUE(eventually([&] { return idle(); }));
}

TEST_F(AnswerTest, ClosingAWaitingConnectionCancelsItsWork) {
  start();
  engine_.set_scripts({endless_script(milliseconds(1))});
  TestClient client(server_->port());
  client.send(post_bytes(kChat, body_of(false, 3)));
  ASSERT_TRUE(eventually([&] { return engine_.load().n_running == 3; }));
  client.close();
  EXPECT_TRUE(eventually([&] { return idle(); }));
}

TEST_F(AnswerTest, OtherAnswersGoOnWhenOneClientLeaves) {
  start();
  Script finite = endless_script(milliseconds(1));
  finite.endless = false;
  finite.events.assign(100, finite.events[0]);
  engine_.set_scripts({endless_script(milliseconds(1)), finite});
  TestClient leaving(server_->port());
  leaving.send(post_bytes(kChat, body_of(true)));
  ASSERT_TRUE(leaving.read_until("xxxxx"));
  TestClient staying(server_->port());
  staying.send(post_bytes(kChat, body_of(false)));
  ASSERT_TRUE(eventually([&] { return engine_.load().n_running == 2; }));
  leaving.close();
  const TestResponse response = staying.read_response();
  EXPECT_NE(response.body.find("\"" + std::string(500, 'x') + "\""), std::string::npos);
  EXPECT_TRUE(eventually([&] { return idle(); }));
}

TEST_F(AnswerTest, AClientThatDoesNotReadIsCancelledWithAnError) {
  start({.max_queued_bytes = 1 << 16});
  engine_.set_scripts({endless_script(milliseconds(0), 4096)});
  TestClient client(server_->port());
  client.send(post_bytes(kChat, body_of(true)));
  // Nothing is read until the engine has been told to stop.
  ASSERT_TRUE(eventually([&] { return engine_.submitted().size() == 1; }));
  ASSERT_TRUE(eventually([&] { return idle(); }));
  const TestResponse response = client.read_response();
  EXPECT_EQ(response.status, 200);
  EXPECT_NE(response.body.find("client_too_slow"), std::string::npos);
  EXPECT_EQ(response.body.find("[DONE]"), std::string::npos);
}

TEST_F(AnswerTest, WhatIsKeptOfAnAnswerHasABudget) {
  start({.budget = {.answers = 1 << 20}});
  engine_.set_scripts({endless_script(milliseconds(0), 4096)});
  TestClient client(server_->port());
  client.send(post_bytes(kChat, body_of(false)));
  const TestResponse response = client.read_response();
  EXPECT_EQ(response.status, 503);
  EXPECT_NE(response.body.find("overloaded"), std::string::npos);
  EXPECT_TRUE(eventually([&] { return idle(); }));
}

TEST_F(AnswerTest, AFullQueueCancelsTheAnswersAlreadySubmitted) {
  start();
  engine_.set_scripts({endless_script(milliseconds(1))});
  engine_.refuse_after(2, Status(Code::unavailable, "the queue is full"));
  TestClient client(server_->port());
  EXPECT_EQ(client.ask(post_bytes(kChat, body_of(true, 5))).status, 429);
  EXPECT_TRUE(eventually([&] { return idle(); }));
}

TEST_F(AnswerTest, StoppingTheServerCancelsWhatDoesNotFinish) {
  start({.drain_timeout = milliseconds(100)});
  engine_.set_scripts({endless_script(milliseconds(1))});
  TestClient client(server_->port());
  client.send(post_bytes(kChat, body_of(true)));
  ASSERT_TRUE(client.read_until("xxxxx"));
  server_->stop();
  EXPECT_TRUE(eventually([&] { return idle(); }));
}

TEST_F(AnswerTest, StreamsAreFramedAsServerSentEvents) {
  start();
  Event event;
  event.text = "a\nb";
  Script script;
  script.events = {event};
  engine_.set_scripts({script});
  TestClient client(server_->port());
  const TestResponse response = client.ask(post_bytes(kChat, body_of(true)));
  EXPECT_NE(response.headers.find("Content-Type: text/event-stream"), std::string::npos);
  EXPECT_NE(response.headers.find("Cache-Control: no-cache"), std::string::npos);
  EXPECT_TRUE(response.body.starts_with("data: {\"id\":\"chatcmpl-"));
  EXPECT_TRUE(response.body.ends_with("}\n\ndata: [DONE]\n\n"));
  EXPECT_NE(response.body.find("\"content\":\"a\\nb\""), std::string::npos);
  // The connection is good for another request.
  EXPECT_EQ(client.ask(post_bytes(kChat, body_of(false))).status, 200);
}

// The constant parts of a chunk are written once: nothing of a text may pass for them.
TEST_F(AnswerTest, EveryPieceOfAStreamIsTheChunkThatItsTextMakes) {
  start();
  const std::vector<std::string> texts = {
      "plain", "?", "\"?\"", "\\", "a\nb\t\x01\x7f", "\xC3\xA9\xE2\x82\xAC", "a\xFFz", "\"", "x"};
  Script script;
  for (const std::string& text : texts) {
    script.events.emplace_back();
    script.events.back().text = text;
  }
  engine_.set_scripts({script});
  TestClient client(server_->port());
  Json body = *parse_json(body_of(true, 2), "body");
  body["stream_options"] = {{"include_usage", true}};
  const TestResponse response = client.ask(post_bytes(kChat, body.dump()));
  const size_t head = response.body.find("{\"id\"");
  const Json first = *parse_json(
      std::string_view(response.body).substr(head, response.body.find("\n\n") - head), "chunk");
  for (const int index : {0, 1}) {
    size_t at = 0;
    for (const std::string& text : texts) {
      Json chunk = first;
      chunk["choices"] = Json::array({{{"index", index},
                                       {"delta", {{"content", text}}},
                                       {"logprobs", nullptr},
                                       {"finish_reason", nullptr}}});
      const std::string wanted = sse_event(chunk.dump());
      at = response.body.find(wanted, at);
      ASSERT_NE(at, std::string::npos) << wanted << "\nin\n" << response.body;
      at += wanted.size();
    }
  }
}

TEST_F(AnswerTest, RefusalsSayWhenToComeBack) {
  start();
  engine_.refuse_after(0, Status(Code::unavailable, "the queue is full"));
  TestClient client(server_->port());
  const TestResponse response = client.ask(post_bytes(kChat, body_of(false)));
  EXPECT_EQ(response.status, 429);
  EXPECT_NE(response.headers.find("Retry-After: 1"), std::string::npos);
}

TEST_F(AnswerTest, BodiesThatAreNoUtf8AreRefused) {
  start();
  TestClient client(server_->port());
  std::string body = body_of(false);
  body.replace(body.find("Hi"), 2, "\xC3\x28");
  EXPECT_EQ(client.ask(post_bytes(kChat, body)).status, 400);
}

TEST_F(AnswerTest, ModelBytesThatAreNoUtf8BecomeReplacements) {
  start();
  Event event;
  event.text = "a\xFFz";
  Script script;
  script.events = {event};
  engine_.set_scripts({script});
  TestClient client(server_->port());
  const TestResponse response = client.ask(post_bytes(kChat, body_of(false)));
  EXPECT_NE(response.body.find("a\xEF\xBF\xBDz"), std::string::npos);
}

TEST_F(AnswerTest, DifferentAnswersHaveDifferentNames) {
  start();
  TestClient client(server_->port());
  const auto id = [&] {
    const auto body = parse_json(client.ask(post_bytes(kChat, body_of(false))).body, "answer");
    return body->at("id").get<std::string>();
  };
  const std::string first = id();
  EXPECT_EQ(first.size(), std::string("chatcmpl-").size() + 24);
  EXPECT_NE(first, id());
}

TEST_F(AnswerTest, ALongerContextIsAdvisedWhereTheModelHasOne) {
  start();
  const std::vector<Token> ids(200, 65);
  const auto message = [&] { return check_prompt(service_, ids, "prompt").error().message; };
  EXPECT_NE(message().find("--ctx"), std::string::npos);
  const ByteText full(engine_.n_ctx());
  service_.text = &full;
  EXPECT_EQ(message().find("--ctx"), std::string::npos);
  EXPECT_NE(message().find("200"), std::string::npos);
}

}  // namespace
}  // namespace ruv
