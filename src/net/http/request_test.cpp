// What a request may say beside its body: forms of its path, its id, its key, and which page it
// comes from; and what the server notes of it.
#include "net/http/test_server.h"

namespace ruv {
namespace {

class RequestTest : public ServerTest {
 protected:
  // The answer to a request with these headers.
  TestResponse ask(const std::string& line, const std::string& headers = "") {
    TestClient client(port());
    return client.ask(line + " HTTP/1.1\r\nHost: localhost\r\n" + headers + "\r\n");
  }
  // The value of a header; empty: it is not there.
  static std::string header(const TestResponse& response, const std::string& name) {
    const size_t at = response.headers.find("\r\n" + name + ": ");
    if (at == std::string::npos) return {};
    const size_t from = at + name.size() + 4;
    return response.headers.substr(from, response.headers.find('\r', from) - from);
  }
  void start_noting(ServerOptions options) {
    options.on_request = [this](const RequestRecord& record) {
      const std::lock_guard lock(mutex_);
      records_.push_back(record);
    };
    start(std::move(options));
  }
  // Waits for the server to have ended n requests.
  std::vector<RequestRecord> records(size_t n) {
    EXPECT_TRUE(eventually([&] {
      const std::lock_guard lock(mutex_);
      return records_.size() >= n;
    }));
    const std::lock_guard lock(mutex_);
    return records_;
  }

  std::mutex mutex_;
  std::vector<RequestRecord> records_;
};

TEST_F(RequestTest, HeadIsTakenWhereGetIs) {
  start({});
  TestClient client(port());
  client.send("HEAD /quick HTTP/1.1\r\nHost: localhost\r\n\r\n" + kGet);
  ASSERT_TRUE(client.read_until("\r\n\r\n"));
  EXPECT_NE(client.received().find("200 OK"), std::string::npos);
  EXPECT_NE(client.received().find("Content-Length: 5"), std::string::npos);
  // No body comes before the next answer.
  ASSERT_TRUE(client.read_until("\r\n\r\nHTTP/1.1 200"));
  TestClient other(port());
  other.send("HEAD /echo HTTP/1.1\r\nHost: localhost\r\n\r\n");
  ASSERT_TRUE(other.read_until("\r\n\r\n"));
  EXPECT_TRUE(other.received().starts_with("HTTP/1.1 405"));
}

TEST_F(RequestTest, PathsHaveSeveralForms) {
  start({});
  for (const char* path : {"/quick", "/quick/", "/quick?api-version=2024", "/quick/?a=b&c",
                           "/in-v1", "/v1/in-v1", "/in-v1/", "/v1/in-v1?x"}) {
    EXPECT_EQ(ask(std::string("GET ") + path).status, 200) << path;
  }
  for (const char* path : {"/quick//", "/v1/quick", "/v1/v1/in-v1", "/", "/v1"}) {
    EXPECT_EQ(ask(std::string("GET ") + path).status, 404) << path;
  }
  EXPECT_EQ(ask("DELETE /in-v1").status, 405);
}

TEST_F(RequestTest, EachHasAnId) {
  start_noting({});
  EXPECT_EQ(header(ask("GET /quick", "X-Request-Id: mine-7\r\n"), "X-Request-Id"), "mine-7");
  std::string before;
  for (const std::string& headers :
       {std::string(), std::string(), "X-Request-Id: with space\r\n" + std::string(),
        "X-Request-Id: " + std::string(129, 'x') + "\r\n"}) {
    const std::string id = header(ask("GET /quick", headers), "X-Request-Id");
    EXPECT_EQ(id.substr(0, 4), "req-");
    EXPECT_EQ(id.size(), 20U);
    EXPECT_NE(id, before);
    before = id;
  }
  EXPECT_EQ(header(ask("GET /nothing", "X-Request-Id: a\r\n"), "X-Request-Id"), "a");
  EXPECT_EQ(header(ask("GET /flood", "X-Request-Id: b\r\n"), "X-Request-Id"), "b");
  EXPECT_EQ(records(7).front().id, "mine-7");
}

TEST_F(RequestTest, TheKeyMayComeAsAnthropicsClientsSendIt) {
  start({.api_keys = ApiKeys("secret")});
  EXPECT_EQ(ask("GET /quick", "X-Api-Key: secret\r\n").status, 200);
  EXPECT_EQ(ask("GET /quick", "X-Api-Key: secrets\r\n").status, 401);
  EXPECT_EQ(ask("GET /quick", "Authorization: Bearer x\r\nX-Api-Key: secret\r\n").status, 401);
  EXPECT_EQ(ask("GET /quick", "Authorization: bearer secret\r\n").status, 200);
  EXPECT_EQ(ask("GET /quick", "Authorization: Basic secret\r\n").status, 401);
}

TEST_F(RequestTest, PagesThatAreNamedMayReadAnswers) {
  start({.api_keys = ApiKeys("k"), .cors_origins = {"https://app.example"}});
  const std::string origin = "Origin: https://app.example\r\n";
  const TestResponse before =
      ask("OPTIONS /echo", origin +
                               "Access-Control-Request-Method: POST\r\n"
                               "Access-Control-Request-Headers: authorization, x-custom\r\n");
  EXPECT_EQ(before.status, 200);  // without the key, which browsers send only then
  EXPECT_EQ(header(before, "Access-Control-Allow-Origin"), "https://app.example");
  EXPECT_EQ(header(before, "Access-Control-Allow-Headers"), "authorization, x-custom");
  const TestResponse answer = ask("GET /quick", origin + "X-Api-Key: k\r\n");
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(header(answer, "Access-Control-Allow-Origin"), "https://app.example");
  EXPECT_EQ(header(answer, "Vary"), "Origin");
  EXPECT_EQ(header(ask("GET /quick", "X-Api-Key: k\r\n"), "Access-Control-Allow-Origin"), "");
  for (const char* other : {"https://app.example.evil", "http://app.example", "null"}) {
    const TestResponse refused =
        ask("OPTIONS /echo",
            std::string("Origin: ") + other + "\r\nAccess-Control-Request-Method: POST\r\n");
    EXPECT_EQ(refused.status, 403) << other;
    EXPECT_EQ(header(refused, "Access-Control-Allow-Origin"), "") << other;
  }
  // Names of headers cannot add lines.
  EXPECT_EQ(header(ask("OPTIONS /echo", origin + "Access-Control-Request-Method: POST\r\n"
                                                 "Access-Control-Request-Headers: a(b)\r\n"),
                   "Access-Control-Allow-Headers"),
            "");
}

TEST_F(RequestTest, AnyPageMayWhereTheStarSaysSo) {
  start({.cors_origins = {"*"}});
  const TestResponse answer = ask("GET /quick", "Origin: http://a.example\r\n");
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(header(answer, "Access-Control-Allow-Origin"), "http://a.example");
}

TEST_F(RequestTest, StreamsThatWaitHaveAHeartbeat) {
  start({.heartbeat = milliseconds(5)});
  TestClient client(port());
  client.send(kWait);
  ASSERT_TRUE(eventually([&] { return n_waiting_ == 1; }));
  waiting_->post([this] { waiting_->begin_stream(); });
  ASSERT_TRUE(client.read_until(": waiting\n\n"));
  waiting_->post([this] { waiting_->write_last("data: x\n\n"); });
  EXPECT_TRUE(client.read_response().body.ends_with("data: x\n\n"));
  // Other answers have no place for comments.
  TestClient other(port());
  other.send(kWait);
  ASSERT_TRUE(eventually([&] { return n_waiting_ == 2; }));
  waiting_->post([this] { waiting_->begin_stream("application/x-ndjson"); });
  ASSERT_TRUE(other.read_until("\r\n\r\n"));
  std::this_thread::sleep_for(milliseconds(50));
  waiting_->post([this] { waiting_->write_last("{}\n"); });
  EXPECT_EQ(other.read_response().body, "{}\n");
}

TEST_F(RequestTest, WhatEndedIsNoted) {
  start_noting({.max_header_bytes = 1000});
  const std::string trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
  ask("GET /tail/x?y", "X-Request-Id: one\r\ntraceparent: " + trace + "\r\n");
  ask("GET /nothing");
  ask("GET /quick", "X-Long: " + std::string(2000, 'x') + "\r\n");
  {
    TestClient leaving(port());
    leaving.send(kWait);
    ASSERT_TRUE(eventually([&] { return n_waiting_ == 1; }));
  }
  const std::vector<RequestRecord> noted = records(4);
  EXPECT_EQ(noted[0].id, "one");
  EXPECT_EQ(noted[0].trace, "0af7651916cd43dd8448eb211c80319c");
  EXPECT_EQ(noted[0].method, "GET");
  EXPECT_EQ(noted[0].path, "/tail/x");
  EXPECT_EQ(noted[0].route, "/tail/{rest}");
  EXPECT_EQ(noted[0].status, 200);
  EXPECT_FALSE(noted[0].is_cut);
  EXPECT_EQ(noted[1].status, 404);
  EXPECT_EQ(noted[1].route, "");
  EXPECT_EQ(noted[2].status, 431);
  EXPECT_EQ(noted[2].method, "");
  EXPECT_TRUE(noted[3].is_cut);
  EXPECT_EQ(noted[3].status, 0);
}

}  // namespace
}  // namespace ruv
