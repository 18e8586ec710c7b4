#include "net/openai/sessions.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <future>

#include "base/folder.h"
#include "net/http/server.h"
#include "net/http/test_client.h"
#include "net/one_model.h"
#include "net/openai/routes.h"
#include "net/scripted_engine.h"

namespace ruv {
namespace {

struct JsonAnswer {
  int status;
  Json body;
};

Script saying(const std::string& text, FinishReason finish = FinishReason::stop) {
  Event event;
  event.ids = {65};
  event.text = text;
  Script script;
  script.events = {event};
  script.finish = finish;
  if (finish == FinishReason::error) script.status = Status(Code::internal, "the script fails");
  return script;
}

class SessionsTest : public testing::Test {
 protected:
  SessionsTest() {
    std::string name = (std::filesystem::temp_directory_path() / "ruv-turns-XXXXXX").string();
    folder_ = ::mkdtemp(name.data());
    start();
  }
  ~SessionsTest() override {
    stop();
    std::filesystem::remove_all(folder_);
  }
  void start() {
    store_ = *SessionStore::open(
        {.folder = folder_ + "/sessions", .note = [this](std::string_view text) {
           const std::lock_guard lock(notes_mutex_);
           notes_.emplace_back(text);
         }});
    keeper_ = std::make_unique<SessionKeeper>(*store_);
    engine_ = std::make_unique<ScriptedEngine>();
    service_ = make_service(make_server_parts(), *engine_, text_, {"scripted"});
    service_.unix_time = [this] { return ++time_; };
    service_.sessions = keeper_.get();
    server_ = *HttpServer::create({.port = 0}, api_routes(models_));
    thread_ = std::thread([this] { EXPECT_TRUE(server_->run()); });
  }
  void stop() {
    server_->stop();
    thread_.join();
    engine_.reset();
    keeper_.reset();
    server_.reset();
    store_.reset();
  }
  void restart() {
    stop();
    start();
  }

  JsonAnswer ask(const std::string& method, const std::string& path, const Json& body = nullptr) {
    std::string bytes = method + " " + path + " HTTP/1.1\r\nHost: localhost\r\n";
    const std::string text = body.is_null() ? "" : body.dump();
    if (!body.is_null()) bytes += "Content-Type: application/json\r\n";
    if (!body.is_null()) bytes += fmt::format("Content-Length: {}\r\n", text.size());
    TestClient client(server_->port());
    const TestResponse response = client.ask(bytes + "\r\n" + text);
    const auto json = parse_json(response.body, "answer");
    return {response.status, json ? *json : Json(response.body)};
  }
  static Json chat_body(const std::string& session, const std::string& text,
                        const Json& more = Json::object()) {
    Json body = {{"model", "scripted"},
                 {"messages", {{{"role", "user"}, {"content", text}}}},
                 {"session", session}};
    body.update(more);
    return body;
  }
  JsonAnswer chat(const Json& body, const Script& script) {
    engine_->set_scripts({script});
    return ask("POST", "/v1/chat/completions", body);
  }
  std::string prompt() const {
    std::string text;
    const std::vector<Request> asked = engine_->submitted();
    for (const Token id : asked.at(0).prompt) text += static_cast<char>(id);
    return text;
  }
  std::string said_in(const std::string& path) {
    const JsonAnswer answer = ask("GET", path);
    std::string text;
    for (const Json& message : answer.body.value("messages", Json::array())) {
      text += message.at("role").get<std::string>().substr(0, 1) + ":" +
              message.at("content").get<std::string>() + " ";
    }
    return text;
  }

  std::string folder_;
  std::mutex notes_mutex_;
  std::vector<std::string> notes_;
  int64_t time_ = 1000;
  ByteText text_;
  OpenAiService service_;
  OneModel models_{service_};
  std::unique_ptr<SessionStore> store_;
  std::unique_ptr<HttpServer> server_;
  std::unique_ptr<SessionKeeper> keeper_;
  std::unique_ptr<ScriptedEngine> engine_;
  std::thread thread_;
};

TEST_F(SessionsTest, ARequestGoesOnWhereTheLastOneStopped) {
  EXPECT_EQ(chat(chat_body("a", "one"), saying("1")).status, 200);
  EXPECT_EQ(prompt(), "<user>one\n");
  restart();
  EXPECT_EQ(chat(chat_body("a", "two"), saying("2", FinishReason::length)).status, 200);
  EXPECT_EQ(prompt(), "<user>one\n<assistant>1\n<user>two\n");
  EXPECT_EQ(said_in("/v1/sessions/a"), "u:one a:1 u:two a:2 ");
  EXPECT_EQ(chat(chat_body("b", "other"), saying("x")).status, 200);
  EXPECT_EQ(prompt(), "<user>other\n");
}

TEST_F(SessionsTest, WhatAStreamEndedWithIsKeptWhenItsEndArrives) {
  for (int turn = 0; turn < 8; ++turn) {
    engine_->set_scripts({saying("yes")});
    TestClient client(server_->port());
    client.send(post_bytes("/v1/chat/completions", chat_body("a", "?", {{"stream", true}}).dump()));
    ASSERT_TRUE(client.read_until("\"stop\""));
    // The very moment the client knows: the session is on disk and free for the next turn.
    const Session kept = *store_->load("", "a");
    EXPECT_EQ(kept.info.n_messages, 2 * (turn + 1));
    EXPECT_EQ(joined_text(read_session_messages(kept)->back()), "yes");
    EXPECT_TRUE(store_->hold("", "a"));
    ASSERT_TRUE(client.read_until("[DONE]"));
  }
}

TEST_F(SessionsTest, AnAnswerThatFailsChangesNothing) {
  EXPECT_EQ(chat(chat_body("a", "one"), saying("1")).status, 200);
  EXPECT_EQ(chat(chat_body("a", "two"), saying("2", FinishReason::error)).status, 500);
  EXPECT_EQ(chat(chat_body("a", std::string(300, 'x')), saying("2")).status, 400);
  EXPECT_EQ(chat(chat_body("a", "REFUSE"), saying("2")).status, 400);
  EXPECT_EQ(chat(chat_body("a", "two", {{"model", "other"}}), saying("2")).status, 404);
  EXPECT_EQ(said_in("/v1/sessions/a"), "u:one a:1 ");
}

TEST_F(SessionsTest, ASessionIsFreeWhenTheClientHearsOfAFailure) {
  for (int i = 0; i < 50; ++i) {
    EXPECT_EQ(chat(chat_body("a", "x"), saying("y", FinishReason::error)).status, 500);
    EXPECT_TRUE(store_->hold("", "a"));
  }
}

TEST_F(SessionsTest, AFullSessionSaysSoBeforeAnAnswerIsMade) {
  Session full;
  full.info.name = "a";
  const std::string most(kMaxSessionTextBytes - 50, 'x');
  const Message longest = text_message("user", most);
  set_session_messages(full, {&longest, 1});
  ASSERT_TRUE(store_->save(*store_->hold("", "a"), full).ok());
  EXPECT_EQ(chat(chat_body("a", "more"), saying("y")).body["error"]["code"], "session_too_long");
  EXPECT_TRUE(engine_->submitted().empty());
}

TEST_F(SessionsTest, OneTurnAtATime) {
  EXPECT_EQ(chat(chat_body("a", "one"), saying("1")).status, 200);
  Script slow = saying("x");
  slow.endless = true;
  slow.pause = std::chrono::milliseconds(1);
  engine_->set_scripts({slow});
  TestClient first(server_->port());
  first.send(post_bytes("/v1/chat/completions", chat_body("a", "two", {{"stream", true}}).dump()));
  ASSERT_TRUE(first.read_until("\"x\""));
  for (const auto& [method, path] : std::vector<std::pair<std::string, std::string>>{
           {"POST", "/v1/chat/completions"}, {"PUT", "/v1/sessions/a"}}) {
    const JsonAnswer second =
        ask(method, path,
            method == "PUT" ? Json{{"messages", {{{"role", "user"}, {"content", "x"}}}}}
                            : chat_body("a", "three"));
    EXPECT_EQ(second.status, 409);
    EXPECT_EQ(second.body["error"]["code"], "session_busy");
  }
  EXPECT_EQ(ask("DELETE", "/v1/sessions/a").status, 409);
  EXPECT_EQ(said_in("/v1/sessions/a"), "u:one a:1 ");
  first.close();
  int status = 409;
  for (int i = 0; i < 4000 && status == 409; ++i) {
    status = chat(chat_body("a", "four"), saying("4")).status;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  EXPECT_EQ(status, 200);
  EXPECT_EQ(said_in("/v1/sessions/a"), "u:one a:1 u:four a:4 ");
}

TEST_F(SessionsTest, UsersHaveTheirOwn) {
  EXPECT_EQ(chat(chat_body("a", "of ann", {{"user", "ann"}}), saying("1")).status, 200);
  EXPECT_EQ(ask("GET", "/v1/sessions/a").status, 404);
  EXPECT_EQ(ask("GET", "/v1/sessions/a?user=ben").status, 404);
  EXPECT_EQ(ask("DELETE", "/v1/sessions/a?user=ben").status, 404);
  EXPECT_EQ(chat(chat_body("a", "of ben", {{"user", "ben"}}), saying("2")).status, 200);
  EXPECT_EQ(prompt(), "<user>of ben\n");
  EXPECT_EQ(said_in("/v1/sessions/a?user=ann"), "u:of ann a:1 ");
  EXPECT_EQ(ask("GET", "/v1/sessions?user=ann").body["data"].size(), 1U);
  EXPECT_EQ(ask("GET", "/v1/sessions").body["data"].size(), 0U);
}

TEST_F(SessionsTest, ListsAreInParts) {
  for (const char* name : {"c", "a", "b"}) chat(chat_body(name, "x"), saying("y"));
  const Json first = ask("GET", "/v1/sessions?limit=2").body;
  EXPECT_TRUE(first["has_more"].get<bool>());
  EXPECT_EQ(first["data"][1]["name"], "b");
  EXPECT_EQ(first["data"][0]["n_messages"], 2);
  EXPECT_EQ(first["data"][0]["n_tokens"], 9);
  const Json all = ask("GET", "/v1/sessions?limit=3").body;
  EXPECT_FALSE(all["has_more"].get<bool>());
  EXPECT_EQ(all["data"].size(), 3U);
  const Json rest = ask("GET", "/v1/sessions?limit=2&after=b").body;
  EXPECT_FALSE(rest["has_more"].get<bool>());
  EXPECT_EQ(rest["data"].size(), 1U);
  for (const char* query :
       {"limit=0", "limit=1001", "limit=x", "limit=", "after=../a", "who=1", "user=%00", "user"}) {
    const int status = ask("GET", std::string("/v1/sessions?") + query).status;
    EXPECT_EQ(status, std::string(query) == "user" ? 200 : 400) << query;
  }
}

TEST_F(SessionsTest, SessionsAreWrittenAndDeleted) {
  const Json body = {{"messages",
                      {{{"role", "system"}, {"content", "Be brief."}},
                       {{"role", "user"}, {"content", "Hi"}},
                       {{"role", "assistant"}, {"content", "Yes?"}}}}};
  const JsonAnswer put = ask("PUT", "/v1/sessions/a", body);
  EXPECT_EQ(put.status, 200);
  EXPECT_EQ(put.body["n_messages"], 3);
  EXPECT_EQ(chat(chat_body("a", "Go on"), saying("1")).status, 200);
  EXPECT_EQ(prompt(), "<system>Be brief.\n<user>Hi\n<assistant>Yes?\n<user>Go on\n");
  EXPECT_EQ(ask("PUT", "/v1/sessions/a", body).body["created"], put.body["created"]);
  EXPECT_EQ(said_in("/v1/sessions/a"), "s:Be brief. u:Hi a:Yes? ");
  EXPECT_EQ(ask("DELETE", "/v1/sessions/a").body["deleted"], true);
  EXPECT_EQ(ask("DELETE", "/v1/sessions/a").status, 404);
  EXPECT_EQ(ask("GET", "/v1/sessions/a").body["error"]["code"], "session_not_found");
}

TEST_F(SessionsTest, OldOnesGo) {
  chat(chat_body("old", "x"), saying("y"));
  chat(chat_body("new", "x"), saying("y"));
  std::promise<std::string> gone;
  const int64_t changed = ask("GET", "/v1/sessions/old").body.at("updated").get<int64_t>();
  keeper_->keep_for(
      10, [changed] { return changed + 11; },
      [&](const SessionInfo& info) { gone.set_value(info.name); });
  EXPECT_EQ(gone.get_future().get(), "old");
  EXPECT_EQ(ask("GET", "/v1/sessions/old").status, 404);
  EXPECT_EQ(ask("GET", "/v1/sessions/new").status, 200);
}

TEST_F(SessionsTest, WrongWritesAreRefused) {
  const Json message = {{"role", "user"}, {"content", "Hi"}};
  EXPECT_EQ(ask("PUT", "/v1/sessions/a", {{"messages", Json::array()}}).status, 400);
  EXPECT_EQ(ask("PUT", "/v1/sessions/a", Json::object()).status, 400);
  EXPECT_EQ(ask("PUT", "/v1/sessions/a", {{"messages", {message}}, {"x", 1}}).status, 400);
  EXPECT_EQ(ask("PUT", "/v1/sessions/a%2Fb", {{"messages", {message}}}).status, 400);
  EXPECT_EQ(ask("PUT", "/v1/sessions/.a", {{"messages", {message}}}).status, 400);
  EXPECT_EQ(ask("PUT", "/v1/sessions/a?limit=1", {{"messages", {message}}}).status, 400);
  const Json longest = {{"role", "user"}, {"content", std::string(kMaxSessionTextBytes, 'x')}};
  EXPECT_EQ(ask("PUT", "/v1/sessions/a", {{"messages", {longest}}}).body["error"]["code"],
            "session_too_long");
  EXPECT_EQ(store_->stats().n_sessions, 0U);
}

TEST_F(SessionsTest, AnAnswerCanGoOnWithTheLastMessage) {
  const Json body = {{"messages", {{{"role", "user"}, {"content", "Count."}}}}};
  ASSERT_EQ(ask("PUT", "/v1/sessions/a", body).status, 200);
  Json more = chat_body("a", "", {{"continue_final_message", true}});
  more["messages"] = {{{"role", "assistant"}, {"content", "one two"}}};
  EXPECT_EQ(chat(more, saying(" three")).status, 200);
  EXPECT_EQ(prompt(), "<user>Count.\n<assistant>one two");
  EXPECT_EQ(said_in("/v1/sessions/a"), "u:Count. a:one two three ");
}

TEST_F(SessionsTest, ADamagedFileIsNotWrittenOver) {
  ASSERT_EQ(chat(chat_body("a", "one"), saying("1")).status, 200);
  for (const FolderEntry& file : files_in(folder_ + "/sessions"))
    if (file.path.ends_with(".session")) std::ofstream(file.path) << "junk";
  restart();
  const JsonAnswer answer = chat(chat_body("a", "two"), saying("2"));
  EXPECT_EQ(answer.status, 500);
  EXPECT_EQ(answer.body["error"]["code"], "session_damaged");
  EXPECT_TRUE(engine_->submitted().empty());
}

// Nobody who asks over HTTP can help it, or should learn where the files are.
TEST_F(SessionsTest, AFolderInPlaceOfAFileIsTheServersFault) {
  ASSERT_EQ(chat(chat_body("a", "one"), saying("1")).status, 200);
  const auto files = files_in(folder_ + "/sessions");
  const auto file = std::ranges::find_if(
      files, [](const FolderEntry& entry) { return entry.path.ends_with(".session"); });
  ASSERT_NE(file, files.end());
  std::filesystem::remove(file->path);
  std::filesystem::create_directory(file->path);
  const Json body = {{"messages", {{{"role", "user"}, {"content", "x"}}}}};
  const JsonAnswer answers[] = {ask("GET", "/v1/sessions/a"), ask("PUT", "/v1/sessions/a", body),
                                ask("DELETE", "/v1/sessions/a"),
                                chat(chat_body("a", "two"), saying("2"))};
  for (const JsonAnswer& answer : answers) {
    EXPECT_EQ(answer.status, 500) << answer.body;
    EXPECT_EQ(answer.body["error"]["type"], "server_error");
    EXPECT_EQ(answer.body.dump().find(folder_), std::string::npos) << answer.body;
  }
  EXPECT_FALSE(notes_.empty());
}

TEST_F(SessionsTest, ErrorsNameNoPaths) {
  ASSERT_EQ(chat(chat_body("a", "one"), saying("1")).status, 200);
  for (const FolderEntry& file : files_in(folder_ + "/sessions")) {
    if (file.path.ends_with(".session")) std::ofstream(file.path) << "junk";
  }
  for (const JsonAnswer& answer :
       {ask("GET", "/v1/sessions/a"), chat(chat_body("a", "two"), saying("2"))}) {
    EXPECT_EQ(answer.status, 500);
    EXPECT_EQ(answer.body["error"]["code"], "session_damaged");
    EXPECT_EQ(answer.body.dump().find(folder_), std::string::npos) << answer.body;
  }
  EXPECT_NE(notes_.at(0).find(folder_), std::string::npos) << notes_.at(0);
}

}  // namespace
}  // namespace ruv
