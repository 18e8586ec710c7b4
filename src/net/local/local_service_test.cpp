// Requests of the same process and servers of it, with an engine that says what its script says.
#include "net/local/local_service.h"

#include <gtest/gtest.h>

#include "base/json.h"
#include "net/http/test_client.h"
#include "net/local/local_server.h"
#include "net/openai/routes.h"
#include "net/scripted_engine.h"

namespace ruv {
namespace {

using State = LocalReply::State;

Script letters(int n) {
  Script script;
  script.events.resize(static_cast<size_t>(n));
  for (Event& event : script.events) event.ids = {'a'}, event.text = "a";
  return script;
}

class LocalServiceTest : public testing::Test {
 protected:
  LocalServiceTest() { engine_.set_scripts({letters(500)}); }
  // The engine ends before what its events reach.
  ~LocalServiceTest() override { own_engine_.reset(); }

  // All bytes of an answer.
  static std::string whole(const std::shared_ptr<LocalReply>& reply) {
    std::string all;
    while (reply->wait(std::nullopt) == State::piece) all += reply->take();
    return all;
  }
  static Json json_of(const std::string& text) {
    auto json = parse_json(text, "answer");
    EXPECT_TRUE(json) << text;
    return json ? *json : Json();
  }
  Json asked(const char* method, const char* target, std::string body, int status = 200) {
    const auto reply = service_.begin(method, target, std::move(body));
    const std::string all = whole(reply);
    EXPECT_EQ(reply->status(), status) << all;
    return json_of(all);
  }

  ByteText text_;
  std::unique_ptr<ScriptedEngine> own_engine_ = std::make_unique<ScriptedEngine>();
  ScriptedEngine& engine_ = *own_engine_;
  LocalSource source_{.engine = &engine_, .text = &text_, .names = {"scripted"}};
  LocalService service_{source_};
};

TEST_F(LocalServiceTest, AnswersAsTheServerDoes) {
  const Json answer = asked("POST", "/v1/completions", R"({"prompt": "b"})");
  EXPECT_EQ(answer["choices"][0]["text"].text(), std::string(500, 'a'));
  EXPECT_EQ(answer["usage"]["completion_tokens"], Json(500));
  EXPECT_EQ(asked("POST", "/tokenize?x=1", R"({"content": "ab"})")["tokens"].size(), 2u);
}

TEST_F(LocalServiceTest, AStreamHasAllText) {
  const auto reply =
      service_.begin("POST", "/v1/completions", R"({"prompt": ["b", "c"], "stream": true})");
  const std::string all = whole(reply);
  EXPECT_TRUE(reply->is_stream());
  size_t n = 0, begin = 0;
  for (size_t end; (end = all.find("\n\n", begin)) != all.npos; begin = end + 2) {
    const std::string event = all.substr(begin + 6, end - begin - 6);
    if (event != "[DONE]") n += json_of(event)["choices"][0]["text"].text().size();
  }
  EXPECT_EQ(n, 1000u);
  EXPECT_TRUE(all.ends_with("[DONE]\n\n"));
}

TEST_F(LocalServiceTest, WhatIsWrongIsAnAnswer) {
  EXPECT_EQ(asked("POST", "/v1/nowhere", "{}", 404)["error"]["type"].text(),
            "invalid_request_error");
  asked("GET", "/v1/completions", "", 405);
  EXPECT_EQ(asked("POST", "/v1/completions", R"({"promt": "b"})", 400)["error"]["param"].text(),
            "promt");
  asked("POST", "/v1/completions", R"({"prompt": "b", "model": "other"})", 404);
  const std::string huge(LocalService::kMaxBodyBytes + 1, ' ');
  EXPECT_EQ(asked("POST", "/v1/completions", huge, 413)["error"]["code"].text(), "body_too_large");
  engine_.refuse_after(0, Status(Code::unavailable, "full"));
  asked("POST", "/v1/completions", R"({"prompt": "b"})", 429);
}

TEST_F(LocalServiceTest, VectorsComeAsVectorsWhereThatIsAsked) {
  const auto reply =
      service_.begin("POST", "/v1/embeddings", R"({"input": ["b", "cc"]})", /*as_vectors=*/true);
  EXPECT_EQ(reply->wait(std::nullopt), State::ended);
  ASSERT_TRUE(reply->vectors());
  EXPECT_EQ(reply->vectors()->vectors.size(), 2u);
  EXPECT_EQ(asked("POST", "/v1/embeddings", R"({"input": "b"})")["data"].size(), 1u);
  const auto wrong = service_.begin("POST", "/v1/embeddings", R"({"input": 1})", true);
  EXPECT_EQ(wrong->wait(std::nullopt), State::piece);
  EXPECT_EQ(wrong->status(), 400);
}

TEST_F(LocalServiceTest, ACancelledAnswerLeavesTheEngine) {
  Script endless = letters(1);
  endless.endless = true;
  endless.pause = std::chrono::microseconds(100);
  engine_.set_scripts({endless});
  for (const char* const body : {R"({"prompt": "b", "stream": true})", R"({"prompt": "b"})"}) {
    const auto reply = service_.begin("POST", "/v1/completions", body);
    reply->wait(std::chrono::steady_clock::now());
    reply->cancel();
    EXPECT_EQ(reply->wait(std::nullopt), State::cancelled);
    while (engine_.load().n_running > 0) std::this_thread::yield();
  }
}

// The model belongs to the program.
TEST_F(LocalServiceTest, AServerAnswersBesideIt) {
  auto server = LocalServer::start(source_, {.port = 0});
  ASSERT_TRUE(server) << server.error().message();
  EXPECT_FALSE(LocalServer::start(source_, {.port = (*server)->port()}));
  const auto answer = [&](const std::string& bytes) {
    TestClient client((*server)->port());
    client.send(bytes);
    return client.read_response().body;
  };
  EXPECT_NE(answer(post_bytes("/v1/completions", R"({"prompt": "b"})")).find(std::string(500, 'a')),
            std::string::npos);
  EXPECT_NE(answer(post_bytes("/models/unload", R"({"model": "scripted"})"))
                .find("the model belongs to the program"),
            std::string::npos);
}

// Counts what a reader is woken for; runs works where the test says so.
class PatientReply final : public Reply {
 public:
  void post(std::function<void()> work) override { add(std::move(work), n_posted); }
  bool is_patient() const override { return true; }
  void post_soon(std::function<void()> work) override { add(std::move(work), n_soon); }
  void send(HttpResponse response) override { body = std::move(response.body), ended = true; }
  void begin_stream(std::string_view) override {}
  bool write(std::string bytes) override { return body += bytes, true; }
  void write_last(std::string bytes) override { body += bytes, ended = true; }
  void send_pieces(uint64_t, std::function<std::string()>) override {}
  bool hold(uint64_t) override { return true; }
  void on_disconnect(std::function<void()>) override {}
  std::unique_ptr<Detached> detach() override { return nullptr; }

  void run_one() {
    std::function<void()> work;
    {
      const std::lock_guard lock(mutex_);
      if (works_.empty()) return;
      work = std::move(works_.front());
      works_.erase(works_.begin());
    }
    work();
  }

  int n_posted = 0, n_soon = 0;
  std::string body;
  bool ended = false;

 private:
  void add(std::function<void()> work, int& n) {
    const std::lock_guard lock(mutex_);
    works_.push_back(std::move(work));
    ++n;
  }

  std::mutex mutex_;
  std::vector<std::function<void()>> works_;
};

TEST_F(LocalServiceTest, AnAnswerThatIsNotStreamedWakesItsReaderAtTheEnd) {
  FixedModel models(service_.service());
  const Route route = completions_route(models);
  std::vector<int> posted;
  for (const int n : {1, 1000}) {
    engine_.set_scripts({letters(n)});
    const auto reply = std::make_shared<PatientReply>();
    HttpRequest request;
    request.body = R"({"prompt": "b"})";
    run_route(route, request, reply);
    while (!reply->ended) reply->run_one();
    EXPECT_EQ(reply->n_soon, 0);
    EXPECT_EQ(json_of(reply->body)["usage"]["completion_tokens"], Json(n));
    posted.push_back(reply->n_posted);
  }
  EXPECT_EQ(posted[0], posted[1]);
}

}  // namespace
}  // namespace ruv
