#include "net/responses/background.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <mutex>
#include <thread>

#include "base/json.h"
#include "net/http/server.h"
#include "net/http/test_client.h"
#include "net/one_model.h"
#include "net/openai/answer_writer.h"
#include "net/openai/routes.h"
#include "net/responses/response_store.h"
#include "net/scripted_engine.h"

namespace ruv {
namespace {

using std::chrono::milliseconds;

// Events of "x", one a millisecond.
Script text_script(size_t n_events) {
  Event event;
  event.ids = {65};
  event.text = "x";
  Script script;
  script.events.assign(n_events, event);
  script.pause = milliseconds(1);
  return script;
}

Script long_script() {
  Script script = text_script(1);
  script.endless = true;
  return script;
}

class BackgroundTest : public ::testing::Test {
 protected:
  void start(ServerOptions options = {}) {
    options.port = 0;
    options.on_request = [this](const RequestRecord& record) {
      const std::lock_guard lock(mutex_);
      records_.push_back(record);
    };
    if (!service_.responses) service_ = make_service(make_server_parts(), engine_, text_, {"m"});
    server_ = *HttpServer::create(options, api_routes(models_));
    thread_ = std::thread([this] { EXPECT_TRUE(server_->run()); });
  }
  void TearDown() override {
    server_->stop();
    if (thread_.joinable()) thread_.join();
    EXPECT_EQ(service_.background->n_running(), 0U);
  }
  template <class F>
  static bool eventually(F condition) {
    for (int i = 0; i < 4000; ++i) {
      if (condition()) return true;
      std::this_thread::sleep_for(milliseconds(5));
    }
    return false;
  }
  bool is_idle() const { return engine_.load().n_running == 0; }

  TestResponse ask(const std::string& method, const std::string& path,
                   const std::string& headers = "") {
    TestClient client(server_->port());
    return client.ask(fmt::format(
        "{} {} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n{}\r\n", method, path, headers));
  }
  static std::string request_of(const Json& more) {
    Json body = {{"input", "Hi"}, {"background", true}};
    body.update(more);
    return post_bytes("/v1/responses", body.dump());
  }
  TestResponse post(const Json& more = Json::object()) {
    TestClient client(server_->port());
    return client.ask(request_of(more));
  }
  // The id of a response that begins.
  std::string begin(const Json& more = Json::object()) {
    const TestResponse answer = post(more);
    EXPECT_EQ(answer.status, 200) << answer.body;
    return parse_json(answer.body, "answer")->value("id", "");
  }
  Json get(const std::string& id) {
    return *parse_json(ask("GET", "/v1/responses/" + id).body, "response");
  }
  TestResponse cancel(const std::string& id) {
    return ask("POST", "/v1/responses/" + id + "/cancel");
  }
  std::string status_of(const std::string& id) { return get(id).value("status", ""); }
  bool becomes(const std::string& id, const std::string& status) {
    return eventually([&] { return status_of(id) == status; });
  }
  TestResponse events_of(const std::string& id, const std::string& more = "") {
    return ask("GET", "/v1/responses/" + id + "?stream=true" + more);
  }

  // The first record of the route, once there is one.
  RequestRecord record_of(const std::string& route) {
    RequestRecord record;
    EXPECT_TRUE(eventually([&] {
      const std::lock_guard lock(mutex_);
      const auto found = std::ranges::find(records_, route, &RequestRecord::route);
      if (found != records_.end()) record = *found;
      return found != records_.end();
    }));
    return record;
  }

  std::mutex mutex_;
  std::vector<RequestRecord> records_;
  ByteText text_;
  OpenAiService service_;
  OneModel models_{service_};
  std::unique_ptr<HttpServer> server_;
  std::thread thread_;
  ScriptedEngine engine_;  // destroyed before the server
};

std::string text_of(const Json& response) {
  std::string text;
  for (const Json& item : response.at("output")) {
    for (const Json& part : item.at("content")) text += part.at("text").get<std::string>();
  }
  return text;
}

// The events of a stream.
std::vector<Json> events_in(std::string_view body) {
  std::vector<Json> events;
  for (size_t at = 0; (at = body.find("data: ", at)) != body.npos;) {
    at += 6;
    events.push_back(*parse_json(body.substr(at, body.find('\n', at) - at), "event"));
  }
  return events;
}

std::string param_of(const TestResponse& refusal) {
  return parse_json(refusal.body, "refusal")->at("error").at("param").get<std::string>();
}

std::string code_of(const TestResponse& refusal) {
  return parse_json(refusal.body, "refusal")->at("error").at("code").get<std::string>();
}

TEST_F(BackgroundTest, TheResponseIsThatOfAClientThatWaits) {
  start();
  engine_.set_scripts({text_script(20)});
  const TestResponse answer = post();
  const Json first = *parse_json(answer.body, "answer");
  EXPECT_TRUE(first.at("status") == "queued" || first.at("status") == "in_progress");
  EXPECT_EQ(first.at("background"), true);
  const std::string id = first.at("id").get<std::string>();
  ASSERT_TRUE(becomes(id, "completed"));
  Json ended = get(id);
  Json waited = *parse_json(post({{"background", false}}).body, "answer");
  EXPECT_EQ(text_of(ended), std::string(20, 'x'));
  EXPECT_EQ(ended.at("usage"), waited.at("usage"));
  EXPECT_EQ(ended.at("output")[0].at("status"), waited.at("output")[0].at("status"));
  EXPECT_EQ(post({{"previous_response_id", id}, {"background", false}}).status, 200);
  EXPECT_EQ(engine_.submitted().back().prompt.size(),
            std::string("<user>Hi\n<assistant>\n<user>Hi\n").size() + 20);
}

TEST_F(BackgroundTest, AnswersThatAreCutOffAndEmptyOnesEndAsTheyDoElsewhere) {
  start();
  Script cut = text_script(3);
  cut.finish = FinishReason::length;
  engine_.set_scripts({cut, text_script(0)});
  const std::string id = begin();
  ASSERT_TRUE(becomes(id, "incomplete"));
  EXPECT_EQ(get(id).at("incomplete_details").at("reason"), "max_output_tokens");
  const std::string empty = begin();
  ASSERT_TRUE(becomes(empty, "completed"));
  EXPECT_EQ(get(empty).at("output")[0].at("content")[0].at("text"), "");
}

TEST_F(BackgroundTest, AFailureIsKept) {
  start();
  Script broken = text_script(2);
  broken.finish = FinishReason::error;
  broken.status = Status(Code::internal, "the script fails here");
  engine_.set_scripts({broken});
  const std::string id = begin();
  ASSERT_TRUE(becomes(id, "failed"));
  const Json response = get(id);
  EXPECT_EQ(response.at("error").at("message"), "the script fails here");
  EXPECT_EQ(text_of(response), "xx");
  EXPECT_EQ(response.at("output")[0].at("status"), "incomplete");
  EXPECT_EQ(param_of(post({{"previous_response_id", id}})), "previous_response_id");
}

TEST_F(BackgroundTest, CancellingEndsItAndMayBeRepeated) {
  start();
  engine_.set_scripts({long_script()});
  const std::string id = begin();
  ASSERT_TRUE(becomes(id, "in_progress"));
  EXPECT_EQ(param_of(post({{"previous_response_id", id}})), "previous_response_id");
  const TestResponse cancelled = cancel(id);
  ASSERT_EQ(cancelled.status, 200);
  const Json response = *parse_json(cancelled.body, "response");
  ASSERT_EQ(response.at("status"), "cancelled");
  EXPECT_EQ(response.at("output")[0].at("status"), "incomplete");
  EXPECT_FALSE(text_of(response).empty());
  EXPECT_TRUE(eventually([&] { return is_idle(); }));
  EXPECT_EQ(cancel(id).body, cancelled.body);
  EXPECT_EQ(get(id), response);
  EXPECT_EQ(param_of(post({{"previous_response_id", id}})), "previous_response_id");
}

TEST_F(BackgroundTest, OneThatHasEndedStaysAsItIs) {
  start();
  engine_.set_scripts({text_script(2)});
  const std::string id = begin();
  ASSERT_TRUE(becomes(id, "completed"));
  EXPECT_EQ(*parse_json(cancel(id).body, "response"), get(id));
  EXPECT_EQ(status_of(id), "completed");
}

TEST_F(BackgroundTest, OnlyThoseInTheBackgroundCanBeCancelled) {
  start();
  const Json waited = *parse_json(post({{"background", false}}).body, "answer");
  const TestResponse refused = cancel(waited.at("id").get<std::string>());
  EXPECT_EQ(refused.status, 400);
  EXPECT_EQ(code_of(refused), "not_in_background");
  EXPECT_EQ(cancel("resp_x").status, 404);
  EXPECT_EQ(ask("POST", "/v1/responses/resp_x").status, 405);
  TestClient client(server_->port());
  const TestResponse unknown = client.ask(post_bytes("/v1/responses/resp_x/cancel", R"({"a":1})"));
  EXPECT_EQ(unknown.status, 400);
  EXPECT_EQ(param_of(unknown), "a");
  EXPECT_EQ(client.ask(post_bytes("/v1/responses/resp_x/cancel", "{}")).status, 404);
}

TEST_F(BackgroundTest, DeletingEndsItToo) {
  start();
  engine_.set_scripts({long_script()});
  const std::string id = begin({{"stream", false}});
  EXPECT_EQ(ask("DELETE", "/v1/responses/" + id).status, 200);
  EXPECT_TRUE(eventually([&] { return is_idle(); }));
  for (const TestResponse& gone :
       {ask("GET", "/v1/responses/" + id), cancel(id), ask("DELETE", "/v1/responses/" + id)}) {
    EXPECT_EQ(gone.status, 404);
  }
}

TEST_F(BackgroundTest, CancelsAtTheSameTimeAgree) {
  start();
  for (int round = 0; round < 20; ++round) {
    // Some come when it has just ended.
    engine_.set_scripts({text_script(static_cast<size_t>(round))});
    const std::string id = begin();
    std::array<std::string, 4> statuses;
    std::vector<std::thread> threads;
    for (std::string& status : statuses) {
      threads.emplace_back([&] {
        const TestResponse answer = cancel(id);
        if (answer.status == 200) status = parse_json(answer.body, "r")->value("status", "");
      });
    }
    for (std::thread& thread : threads) thread.join();
    const std::string kept = status_of(id);
    EXPECT_TRUE(kept == "cancelled" || kept == "completed") << kept;
    for (const std::string& status : statuses) EXPECT_EQ(status, kept) << round;
  }
}

TEST_F(BackgroundTest, AStreamGoesOnWithoutItsClientAndCanBeReadAgain) {
  start();
  engine_.set_scripts({text_script(50)});
  TestClient client(server_->port());
  client.send(request_of({{"stream", true}}));
  ASSERT_TRUE(client.read_until("output_text.delta"));
  const std::string& received = client.received();
  const std::string id = received.substr(received.find("resp_"), 29);
  client.close();
  // One that comes while it is made, and one that comes later.
  const TestResponse during = events_of(id);
  ASSERT_TRUE(becomes(id, "completed"));
  const TestResponse after = events_of(id);
  EXPECT_EQ(during.body, after.body);
  EXPECT_NE(after.headers.find("text/event-stream"), std::string::npos);
  const std::vector<Json> events = events_in(after.body);
  ASSERT_GT(events.size(), 50U);
  for (size_t i = 0; i < events.size(); ++i) EXPECT_EQ(events[i].at("sequence_number"), i);
  EXPECT_EQ(events[0].at("type"), "response.created");
  EXPECT_EQ(events[1].at("type"), "response.queued");
  EXPECT_EQ(events[2].at("type"), "response.in_progress");
  EXPECT_EQ(events.back().at("type"), "response.completed");
  EXPECT_EQ(events.back().at("response"), get(id));
  for (const size_t n : {size_t{0}, size_t{7}, events.size() - 2, events.size() - 1}) {
    const std::vector<Json> rest =
        events_in(events_of(id, fmt::format("&starting_after={}", n)).body);
    EXPECT_EQ(rest, std::vector<Json>(events.begin() + static_cast<int64_t>(n) + 1, events.end()));
  }
  const TestResponse beyond = events_of(id, fmt::format("&starting_after={}", events.size()));
  EXPECT_EQ(beyond.status, 400);
  EXPECT_EQ(param_of(beyond), "starting_after");
  EXPECT_EQ(ask("DELETE", "/v1/responses/" + id).status, 200);
  EXPECT_EQ(events_of(id).status, 404);
  EXPECT_EQ(service_.background->n_bytes(), 0U);
}

TEST_F(BackgroundTest, TheStreamOfOneThatIsCancelledEnds) {
  start();
  engine_.set_scripts({long_script()});
  TestClient client(server_->port());
  client.send(request_of({{"stream", true}}));
  ASSERT_TRUE(client.read_until("output_text.delta"));
  const std::string& received = client.received();
  const std::string id = received.substr(received.find("resp_"), 29);
  EXPECT_EQ(cancel(id).status, 200);
  const std::vector<Json> events = events_in(client.read_response().body);
  EXPECT_EQ(events.back().at("type"), "response.failed");
  EXPECT_EQ(events.back().at("response"), get(id));
  EXPECT_EQ(status_of(id), "cancelled");
}

TEST_F(BackgroundTest, EventsOfOthersAreRefused) {
  start();
  engine_.set_scripts({text_script(2), text_script(2), long_script()});
  const std::string waited =
      parse_json(post({{"background", false}}).body, "answer")->value("id", "");
  const std::string whole = begin();
  ASSERT_TRUE(becomes(whole, "completed"));
  const std::string running = begin();
  for (const std::string& id : {waited, whole, running}) {
    const TestResponse refused = events_of(id);
    EXPECT_EQ(refused.status, 400);
    EXPECT_EQ(param_of(refused), "stream");
  }
  EXPECT_EQ(events_of("resp_x").status, 404);
  EXPECT_EQ(cancel(running).status, 200);
}

TEST_F(BackgroundTest, QueriesThatAreWrongAreRefusedByName) {
  start();
  engine_.set_scripts({text_script(2)});
  const std::string id = begin({{"stream", false}});
  ASSERT_TRUE(becomes(id, "completed"));
  const std::pair<const char*, const char*> kWrong[] = {
      {"starting_after=1", "starting_after"},
      {"stream=1", "stream"},
      {"stream=", "stream"},
      {"stream=true&starting_after=-1", "starting_after"},
      {"stream=true&starting_after=x", "starting_after"},
      {"stream=true&starting_after=9223372036854775807", "starting_after"},
      {"include[]=file_search_call.results", "include[]"},
      {"include_obfuscation=true", "include_obfuscation"},
      {"limit=1", "limit"}};
  for (const auto& [query, name] : kWrong) {
    const TestResponse refused = ask("GET", fmt::format("/v1/responses/{}?{}", id, query));
    EXPECT_EQ(refused.status, 400) << query;
    EXPECT_EQ(param_of(refused), name) << query;
  }
  for (const char* query : {"stream=false", "include[]=reasoning.encrypted_content",
                            "include_obfuscation=false", "api-version=v1"}) {
    EXPECT_EQ(ask("GET", fmt::format("/v1/responses/{}?{}", id, query)).status, 200) << query;
  }
}

TEST_F(BackgroundTest, HeadOfAStreamHasNoBody) {
  start();
  engine_.set_scripts({long_script()});
  TestClient client(server_->port());
  client.send(request_of({{"stream", true}}));
  ASSERT_TRUE(client.read_until("output_text.delta"));
  const std::string id = client.received().substr(client.received().find("resp_"), 29);
  TestClient other(server_->port());
  other.send("HEAD /v1/responses/" + id + "?stream=true HTTP/1.1\r\nHost: localhost\r\n\r\n" +
             "GET /v1/models HTTP/1.1\r\nHost: localhost\r\n\r\n");
  ASSERT_TRUE(other.read_until("\r\n\r\nHTTP/1.1 200"));
  EXPECT_EQ(cancel(id).status, 200);
}

TEST_F(BackgroundTest, TooManyAreRefused) {
  service_ = make_service(make_server_parts(), engine_, text_, {"m"});
  service_.background = std::make_shared<BackgroundResponses>(2);
  start();
  engine_.set_scripts({long_script()});
  const std::string first = begin();
  const std::string second = begin();
  const TestResponse refused = post();
  EXPECT_EQ(refused.status, 429);
  EXPECT_EQ(param_of(refused), "background");
  EXPECT_NE(refused.headers.find("Retry-After: 1"), std::string::npos);
  EXPECT_EQ(engine_.submitted().size(), 2U);
  EXPECT_EQ(cancel(first).status, 200);
  const std::string third = begin();
  for (const std::string& id : {second, third}) EXPECT_EQ(cancel(id).status, 200);
}

TEST_F(BackgroundTest, WhatTheyTakeIsBounded) {
  service_ = make_service(make_server_parts(), engine_, text_, {"m"});
  service_.background = std::make_shared<BackgroundResponses>(128, 20'000);
  start();
  const TestResponse refused = post({{"metadata", {{"a", std::string(3000, 'x')}}}});
  EXPECT_EQ(refused.status, 503);
  EXPECT_EQ(param_of(refused), "background");
  EXPECT_EQ(service_.background->n_bytes(), 0U);

  // The client that waits gets every event, though they are forgotten.
  engine_.set_scripts({text_script(150)});
  TestClient client(server_->port());
  const std::vector<Json> events = events_in(client.ask(request_of({{"stream", true}})).body);
  ASSERT_GT(events.size(), 150U);
  for (size_t i = 0; i < events.size(); ++i) EXPECT_EQ(events[i].at("sequence_number"), i);
  EXPECT_EQ(text_of(events.back().at("response")), std::string(150, 'x'));
  EXPECT_LE(service_.background->n_bytes(), 20'000U);
  const std::string id = events[0].at("response").at("id").get<std::string>();
  const TestResponse gone = events_of(id, "&starting_after=3");
  EXPECT_EQ(gone.status, 400);
  EXPECT_EQ(code_of(gone), "events_not_kept");
  const std::vector<Json> last =
      events_in(events_of(id, fmt::format("&starting_after={}", events.size() - 2)).body);
  ASSERT_EQ(last.size(), 1U);
  EXPECT_EQ(last[0], events.back());
  EXPECT_EQ(status_of(id), "completed");
}

TEST_F(BackgroundTest, EventsOfTheOldestGoFirst) {
  service_ = make_service(make_server_parts(), engine_, text_, {"m"});
  service_.background = std::make_shared<BackgroundResponses>(128, 40'000);
  start();
  engine_.set_scripts({text_script(20)});
  std::vector<std::string> ids;
  for (int i = 0; i < 8; ++i) {
    TestClient client(server_->port());
    const std::vector<Json> events = events_in(client.ask(request_of({{"stream", true}})).body);
    ids.push_back(events.at(0).at("response").at("id").get<std::string>());
    EXPECT_EQ(events_of(ids.back()).status, 200);
    EXPECT_LE(service_.background->n_bytes(), 40'000U);
  }
  EXPECT_EQ(code_of(events_of(ids[0])), "events_not_kept");
}

TEST_F(BackgroundTest, ARefusalOfTheEngineIsTheAnswer) {
  start();
  engine_.refuse_after(0, Status(Code::unavailable, "the queue is full"));
  for (const bool stream : {false, true}) {
    engine_.refuse_after(0, Status(Code::unavailable, "the queue is full"));
    EXPECT_EQ(post({{"stream", stream}}).status, 429);
  }
  EXPECT_EQ(service_.background->n_running(), 0U);
  EXPECT_EQ(service_.responses->n_bytes(), 0U);
}

TEST_F(BackgroundTest, AStoppingServerWaitsForThem) {
  start({.drain_timeout = milliseconds(60'000)});
  engine_.set_scripts({text_script(100)});
  const std::string id = begin();
  server_->stop();
  thread_.join();
  const auto kept = service_.responses->find(id);
  ASSERT_TRUE(kept);
  EXPECT_EQ((*parse_json(kept->response, "kept"))["status"], "completed");
}

TEST_F(BackgroundTest, AStoppedServerSaysThatItDidNotFinishThem) {
  start({.drain_timeout = milliseconds(50)});
  engine_.set_scripts({long_script()});
  const std::string whole = begin();
  TestClient client(server_->port());
  client.send(request_of({{"stream", true}}));
  ASSERT_TRUE(client.read_until("output_text.delta"));
  server_->stop();
  thread_.join();
  const auto kept = service_.responses->find(whole);
  ASSERT_TRUE(kept);
  EXPECT_FALSE(kept->is_unfinished);
  const Json response = *parse_json(kept->response, "kept");
  EXPECT_EQ(response["status"], "failed");
  EXPECT_EQ(response["error"]["code"], "server_stopped");
  EXPECT_TRUE(eventually([&] { return is_idle(); }));
}

TEST_F(BackgroundTest, OneThatIsKeptAsUnfinishedAndIsNotMadeHasFailed) {
  start();
  service_.responses->put("resp_a", {.response = R"({"status":"queued","background":true})",
                                     .input = "[]",
                                     .messages = "[]",
                                     .is_unfinished = true});
  EXPECT_EQ(status_of("resp_a"), "failed");
  EXPECT_EQ(*parse_json(cancel("resp_a").body, "response"), get("resp_a"));
}

// Neither while it is made nor when it has ended.
TEST_F(BackgroundTest, OtherKeysDoNotSeeIt) {
  start({.api_keys = *ApiKeys::parse("ann secret\nbob other\n")});
  engine_.set_scripts({long_script()});
  const std::string ann = "Authorization: Bearer secret\r\n",
                    bob = "Authorization: Bearer other\r\n";
  const auto post_as = [&](const std::string& key, const Json& body) {
    const std::string bytes = post_bytes("/v1/responses", body.dump(), key);
    return TestClient(server_->port()).ask(bytes);
  };
  const TestResponse begun =
      post_as(ann, {{"input", "Hi"}, {"background", true}, {"stream", false}});
  ASSERT_EQ(begun.status, 200) << begun.body;
  const std::string id = parse_json(begun.body, "answer")->value("id", "");
  const std::string path = "/v1/responses/" + id;
  const auto expect_unseen = [&] {
    for (const char* rest : {"", "/input_items", "?stream=true"}) {
      EXPECT_EQ(ask("GET", path + rest, bob).status, 404) << rest;
    }
    EXPECT_EQ(ask("POST", path + "/cancel", bob).status, 404);
    EXPECT_EQ(ask("DELETE", path, bob).status, 404);
    EXPECT_EQ(post_as(bob, {{"input", "Hi"}, {"previous_response_id", id}}).status, 404);
  };
  expect_unseen();
  EXPECT_EQ(ask("POST", path + "/cancel", ann).status, 200);
  expect_unseen();
  EXPECT_EQ(ask("GET", path, ann).status, 200);
  EXPECT_EQ(ask("GET", path + "/input_items", ann).status, 200);
  EXPECT_EQ(ask("DELETE", path, ann).status, 200);
  EXPECT_EQ(ask("GET", path, ann).status, 404);
}

TEST_F(BackgroundTest, ItsKeyPaysWhenItEnds) {
  start({.api_keys = *ApiKeys::parse("ann secret tokens=12\n")});
  engine_.set_scripts({text_script(40), long_script()});
  const auto post_with_key = [&] {
    TestClient client(server_->port());
    return client.ask(post_bytes("/v1/responses", R"({"input":"Hi","background":true})",
                                 "X-Api-Key: secret\r\n"));
  };
  EXPECT_EQ(post_with_key().status, 200);
  const RequestRecord work = record_of("background");
  EXPECT_EQ(post_with_key().status, 429);
  const RequestRecord request = record_of("/v1/responses");
  EXPECT_EQ(request.notes.n_generated_tokens, 0);
  EXPECT_EQ(request.notes.model, "m");
  EXPECT_EQ(work.id, request.id);
  EXPECT_EQ(work.notes.n_prompt_tokens, 9);
  EXPECT_EQ(work.notes.n_generated_tokens, 40);
  EXPECT_EQ(work.notes.finish, "stop");
  EXPECT_EQ(work.notes.model, "m");
}

TEST_F(BackgroundTest, WhatWasGeneratedUntilItWasCancelledIsPaidFor) {
  start();
  engine_.set_scripts({long_script()});
  const std::string id = begin();
  ASSERT_TRUE(becomes(id, "in_progress"));
  EXPECT_EQ(cancel(id).status, 200);
  const RequestRecord work = record_of("background");
  EXPECT_GT(work.notes.n_generated_tokens, 0);
  EXPECT_EQ(work.notes.n_prompt_tokens, 9);
  EXPECT_EQ(work.notes.finish, "cancelled");
}

class CountedWork final : public Detached {
 public:
  explicit CountedWork(int& n_ended) : n_ended_(n_ended) {}
  void on_stop(std::function<void()>) override {}
  void end(const RequestNotes&) override { ++n_ended_; }

 private:
  int& n_ended_;
};

// A client without a server: what is posted runs at once.
class LoneClient final : public Reply {
 public:
  void post(std::function<void()> work) override { work(); }
  void send(HttpResponse response) override { status = response.status; }
  using Reply::begin_stream;
  void begin_stream(std::string_view) override {}
  bool write(std::string bytes) override {
    if (reads) received += bytes;
    return reads;
  }
  void write_last(std::string bytes) override {
    received += bytes;
    has_ended = true;
  }
  void send_pieces(uint64_t, std::function<std::string()>) override {}
  bool hold(uint64_t) override { return true; }
  void on_disconnect(std::function<void()>) override {}
  std::unique_ptr<Detached> detach() override {
    if (is_gone) return nullptr;
    return std::make_unique<CountedWork>(n_ended);
  }

  int status = 0;
  int n_ended = 0;
  bool is_gone = false;
  bool reads = true;
  std::string received = {};
  bool has_ended = false;
};

class BackgroundReplyTest : public ::testing::Test {
 protected:
  std::shared_ptr<BackgroundReply> begin(bool wants_events = false) {
    return *BackgroundReply::begin(all_, client_, {"", wants_events, 1000});
  }
  static void run_out_of_memory() { throw std::bad_alloc(); }

  std::shared_ptr<BackgroundResponses> all_ = std::make_shared<BackgroundResponses>();
  std::shared_ptr<LoneClient> client_ = std::make_shared<LoneClient>();
};

TEST_F(BackgroundReplyTest, WithoutMemoryBeforeItBeganItIsRefused) {
  const auto reply = begin();
  EXPECT_EQ(all_->n_running(), 1U);
  EXPECT_EQ(all_->n_bytes(), 1000U);
  reply->post(run_out_of_memory);
  EXPECT_EQ(client_->status, 503);
  EXPECT_EQ(all_->n_running(), 0U);
  EXPECT_EQ(all_->n_bytes(), 0U);
}

TEST_F(BackgroundReplyTest, WithoutMemoryLaterItEndsEvenIfGivingUpFails) {
  const auto reply = begin();
  int n_given_up = 0;
  reply->begin_stream();
  reply->on_disconnect([&] {
    ++n_given_up;
    run_out_of_memory();
  });
  reply->show("resp_a", "{}");
  EXPECT_EQ(all_->find("resp_a"), reply);
  bool is_told = false;
  reply->cancel([&] { is_told = true; });
  EXPECT_TRUE(is_told);
  EXPECT_EQ(n_given_up, 1);
  EXPECT_EQ(client_->n_ended, 1);
  EXPECT_EQ(all_->find("resp_a"), nullptr);
  EXPECT_EQ(all_->n_running(), 0U);
  reply->post(run_out_of_memory);
  reply->write_last("late");
  EXPECT_EQ(client_->n_ended, 1);
}

TEST_F(BackgroundReplyTest, AClientThatDoesNotReadIsSentAwayAndTheResponseContinues) {
  const auto reply = begin(true);
  reply->begin_stream();
  reply->show("resp_a", "{}");
  EXPECT_TRUE(reply->write(sse_event("0") + sse_event("1")));
  EXPECT_EQ(client_->received, "");  // the response is not kept yet
  reply->answer_client();
  EXPECT_TRUE(reply->write(sse_event("2")));
  const std::string before = sse_event("0") + sse_event("1") + sse_event("2");
  EXPECT_EQ(client_->received, before);
  const auto slow = std::make_shared<LoneClient>();
  reply->follow(slow, 1);
  client_->reads = false;
  EXPECT_TRUE(reply->write(sse_event("3")));
  EXPECT_TRUE(client_->has_ended);
  ASSERT_TRUE(client_->received.starts_with(before));
  const std::vector<Json> events = events_in(client_->received.substr(before.size()));
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(events[0].at("code"), "client_too_slow");
  EXPECT_EQ(events[0].at("sequence_number"), 2);
  // Others get what follows, and so does the client when it comes back.
  const auto again = std::make_shared<LoneClient>();
  reply->follow(again, 3);
  reply->write_last(sse_event("4"));
  EXPECT_EQ(slow->received, sse_event("1") + sse_event("2") + sse_event("3") + sse_event("4"));
  EXPECT_EQ(again->received, sse_event("3") + sse_event("4"));
  EXPECT_TRUE(slow->has_ended && again->has_ended);
  EXPECT_EQ(all_->events("resp_a")->from(3), again->received);
}

TEST_F(BackgroundReplyTest, OneWhoseClientLeftBeforeItBeganIsGivenUp) {
  client_->is_gone = true;
  auto reply = begin();
  reply->begin_stream();
  int n_given_up = 0;
  reply->on_disconnect([&] { ++n_given_up; });
  EXPECT_EQ(n_given_up, 1);
  reply.reset();
  EXPECT_EQ(all_->n_running(), 0U);
  EXPECT_EQ(all_->n_bytes(), 0U);
}

}  // namespace
}  // namespace ruv
