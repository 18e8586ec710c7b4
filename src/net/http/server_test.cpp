#include "net/http/server.h"

#include <gtest/gtest.h>

#include <csignal>

#include "net/http/test_server.h"

namespace ruv {
namespace {

TEST_F(ServerTest, OneConnectionServesManyRequests) {
  start({});
  TestClient client(port());
  for (int i = 0; i < 3; ++i) {
    const std::string body = "body " + std::to_string(i);
    const TestResponse response = client.ask(post_bytes("/echo", body));
    EXPECT_EQ(response.status, 200);
    EXPECT_EQ(response.body, body);
  }
}

TEST_F(ServerTest, PipelinedRequestsAreAnsweredInOrder) {
  start({});
  TestClient client(port());
  client.send(post_bytes("/echo", "one") + post_bytes("/echo", "two") + kGet);
  EXPECT_EQ(client.read_response().body, "one");
  EXPECT_EQ(client.read_response().body, "two");
  EXPECT_EQ(client.read_response().status, 200);
}

TEST_F(ServerTest, BodiesComeInPiecesAndChunks) {
  start({});
  TestClient client(port());
  const std::string bytes = post_bytes("/echo", "slow body");
  for (const char c : bytes) {
    ASSERT_TRUE(client.send(std::string_view(&c, 1)));
  }
  EXPECT_EQ(client.read_response().body, "slow body");
  EXPECT_EQ(client
                .ask("POST /echo HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
                     "3\r\nabc\r\n4\r\ndefg\r\n0\r\n\r\n")
                .body,
            "abcdefg");
}

TEST_F(ServerTest, ClosesWhenAskedTo) {
  start({});
  TestClient client(port());
  const TestResponse response =
      client.ask("GET /open HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
  EXPECT_EQ(response.status, 200);
  EXPECT_NE(response.headers.find("Connection: close"), std::string::npos);
  EXPECT_FALSE(client.read_more());
}

TEST_F(ServerTest, OldHttpGetsNoChunks) {
  start({});
  TestClient client(port());
  const TestResponse response = client.ask("GET /flood HTTP/1.0\r\n\r\n");
  EXPECT_EQ(response.headers.find("chunked"), std::string::npos);
  EXPECT_TRUE(response.body.ends_with("xgiven up"));
}

TEST_F(ServerTest, UnknownPathAndMethod) {
  start({});
  TestClient client(port());
  EXPECT_EQ(client.ask("GET /nothing HTTP/1.1\r\nHost: localhost\r\n\r\n").status, 404);
  const TestResponse wrong = client.ask("GET /echo HTTP/1.1\r\nHost: localhost\r\n\r\n");
  EXPECT_EQ(wrong.status, 405);
  EXPECT_NE(wrong.headers.find("Allow: POST"), std::string::npos);
}

TEST_F(ServerTest, PathsAreDecoded) {
  start({});
  TestClient client(port());
  EXPECT_EQ(client.ask("GET /tail/a%2Fb%20c/d%zz HTTP/1.1\r\nHost: localhost\r\n\r\n").body,
            "a/b c/d%zz");
  EXPECT_EQ(client.ask("GET /tail/ HTTP/1.1\r\nHost: localhost\r\n\r\n").status, 404);
}

TEST_F(ServerTest, APathMayGoOnBehindItsTail) {
  start({});
  TestClient client(port());
  const auto ask = [&](const char* method, const char* path) {
    return client.ask(fmt::format("{} {} HTTP/1.1\r\nHost: localhost\r\n\r\n", method, path));
  };
  EXPECT_EQ(ask("GET", "/tail/a/b/end").body, "end of a/b");
  EXPECT_EQ(ask("GET", "/tail/a/end/").body, "end of a");
  EXPECT_EQ(ask("GET", "/tail/end").body, "end");
  EXPECT_EQ(ask("GET", "/tail/a/end/x").body, "a/end/x");
  const TestResponse wrong = ask("DELETE", "/tail/a/end");
  EXPECT_EQ(wrong.status, 405);
  EXPECT_NE(wrong.headers.find("Allow: GET\r\n"), std::string::npos);
}

TEST(QueryParameters, AreDecodedAndKeepTheirOrder) {
  std::string seen;
  for (const auto& [name, value] : query_parameters("b=2&a%5B%5D=x%26y&c&=v&&d=1=2&b=")) {
    seen += fmt::format("{}:{};", name, value);
  }
  EXPECT_EQ(seen, "b:2;a[]:x&y;c:;:v;:;d:1=2;b:;");
  EXPECT_TRUE(query_parameters("").empty());
}

TEST_F(ServerTest, AThrowingRouteIsAnError500) {
  start({});
  TestClient client(port());
  const TestResponse response = client.ask("GET /throw HTTP/1.1\r\nHost: localhost\r\n\r\n");
  EXPECT_EQ(response.status, 500);
  EXPECT_NE(response.body.find("broken route"), std::string::npos);
  EXPECT_EQ(client.ask(kGet).status, 200);
}

TEST_F(ServerTest, GarbageIsAnError400) {
  start({});
  TestClient client(port());
  const TestResponse response = client.ask("\x16\x03\x01 not http at all\r\n\r\n");
  EXPECT_EQ(response.status, 400);
  EXPECT_FALSE(client.read_more());
}

TEST_F(ServerTest, LongHeadersAndBodiesAreRefused) {
  start({.max_body_bytes = 1000, .max_header_bytes = 2000});
  TestClient header(port());
  EXPECT_EQ(
      header
          .ask("GET /open HTTP/1.1\r\nHost: localhost\r\nX: " + std::string(5000, 'a') + "\r\n\r\n")
          .status,
      431);
  TestClient body(port());
  EXPECT_EQ(body.ask(post_bytes("/echo", std::string(200'000, 'b'))).status, 413);
  TestClient chunks(port());
  EXPECT_EQ(chunks
                .ask("POST /echo HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: "
                     "chunked\r\n\r\n1000\r\n" +
                     std::string(0x1000, 'c') + "\r\n0\r\n\r\n")
                .status,
            413);
  TestClient exact(port());
  EXPECT_EQ(exact.ask(post_bytes("/echo", std::string(1000, 'd'))).status, 200);
}

TEST_F(ServerTest, AllBodiesTogetherAreLimited) {
  start({.budget = {.bodies = 1500}});
  TestClient first(port());
  first.send("POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n" +
             std::string(900, 'x'));
  // The first request may still be on its way: the refusal comes once it is counted.
  EXPECT_TRUE(eventually([&] {
    TestClient probe(port());
    return probe.ask(post_bytes("/echo", std::string(700, 'x'))).status == 503;
  }));
  first.close();
  EXPECT_TRUE(eventually([&] {
    TestClient probe(port());
    return probe.ask(post_bytes("/echo", std::string(700, 'x'))).status == 200;
  }));
}

TEST_F(ServerTest, ExpectContinueIsAnswered) {
  start({});
  TestClient client(port());
  client.send(
      "POST /echo HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\nContent-Length: "
      "2\r\n\r\n");
  ASSERT_TRUE(client.read_until("HTTP/1.1 100 Continue\r\n\r\n"));
  client.send("ok");
  EXPECT_TRUE(client.read_until("\r\n\r\nok"));
}

TEST_F(ServerTest, SlowClientsAreClosed) {
  start({.idle_timeout = milliseconds(100),
         .header_timeout = milliseconds(100),
         .body_timeout = milliseconds(100)});
  TestClient idle(port());
  TestClient header(port());
  header.send("GET /open HTT");
  TestClient body(port());
  body.send("POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\n123");
  EXPECT_FALSE(idle.read_more());
  EXPECT_EQ(header.read_response().status, 408);
  EXPECT_FALSE(header.read_more());
  EXPECT_EQ(body.read_response().status, 408);
  EXPECT_FALSE(body.read_more());
}

TEST_F(ServerTest, ABodyThatDribblesIsGivenUp) {
  start({.body_timeout = milliseconds(600'000),
         .body_grace = milliseconds(100),
         .min_body_rate = 1 << 20});
  TestClient client(port());
  client.send("POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100000\r\n\r\n");
  std::atomic<bool> over{false};
  std::thread dribble([&] {
    while (!over && client.send("x")) std::this_thread::sleep_for(milliseconds(2));
  });
  EXPECT_EQ(client.read_response().status, 408);
  over = true;
  dribble.join();
}

TEST_F(ServerTest, ANewConnectionTakesTheLongestIdleOnesPlace) {
  start({.max_connections = 2});
  TestClient first(port());
  EXPECT_EQ(first.ask(kGet).status, 200);
  TestClient second(port());
  EXPECT_EQ(second.ask(kGet).status, 200);
  EXPECT_EQ(first.ask(kGet).status, 200);  // second waits longer now
  TestClient third(port());
  EXPECT_EQ(third.ask(kGet).status, 200);
  EXPECT_FALSE(second.read_more());
  EXPECT_EQ(first.ask(kGet).status, 200);
}

TEST_F(ServerTest, ConnectionsAreLimited) {
  start({.max_connections = 2});
  TestClient first(port());
  TestClient second(port());
  first.send(kWait);
  ASSERT_TRUE(eventually([&] { return n_waiting_ == 1; }));
  second.send(kWait);
  ASSERT_TRUE(eventually([&] { return n_waiting_ == 2; }));
  {
    TestClient third(port());
    EXPECT_EQ(third.read_response().status, 503);
  }
  first.close();
  EXPECT_TRUE(eventually([&] { return TestClient(port()).ask(kGet).status == 200; }));
}

TEST_F(ServerTest, KeyIsAskedForWhereNeeded) {
  start({.api_keys = ApiKeys("secret")});
  TestClient client(port());
  EXPECT_EQ(client.ask(kGet).status, 200);
  EXPECT_EQ(client.ask(post_bytes("/echo", "x")).status, 401);
  for (const char* key : {"", "secre", "secrets", "Secret", "secretsecret"}) {
    EXPECT_EQ(
        client.ask(post_bytes("/echo", "x", "Authorization: Bearer " + std::string(key) + "\r\n"))
            .status,
        401)
        << key;
  }
  for (const char* scheme : {"Bearer", "bearer", "BEARER"}) {
    const std::string header = "Authorization: " + std::string(scheme) + " secret\r\n";
    EXPECT_EQ(client.ask(post_bytes("/echo", "x", header)).status, 200) << scheme;
  }
}

TEST_F(ServerTest, ADisconnectedClientIsNoticedWhileItWaits) {
  start({});
  TestClient client(port());
  client.send(kWait);
  ASSERT_TRUE(eventually([&] { return n_waiting_ == 1; }));
  EXPECT_EQ(n_disconnects_, 0);
  client.close();
  EXPECT_TRUE(eventually([&] { return n_disconnects_ == 1; }));
}

TEST_F(ServerTest, APipelinedRequestIsNoDisconnect) {
  start({});
  TestClient client(port());
  client.send(kWait + kGet);
  ASSERT_TRUE(eventually([&] { return n_waiting_ == 1; }));
  waiting_->post([reply = waiting_] { reply->send({.body = "late"}); });
  EXPECT_EQ(client.read_response().body, "late");
  EXPECT_EQ(client.read_response().status, 200);
  EXPECT_EQ(n_disconnects_, 0);
}

TEST_F(ServerTest, AClientThatDoesNotReadIsGivenUp) {
  start({.max_queued_bytes = 1 << 20, .write_timeout = milliseconds(200)});
  TestClient client(port());
  client.send("GET /flood HTTP/1.1\r\nHost: localhost\r\n\r\n");
  ASSERT_TRUE(eventually([&] { return flooded_bytes_ >= 1 << 20; }));
  EXPECT_LE(flooded_bytes_, (1 << 20) + (1 << 17));
  // The reader sees what was queued and why it ends.
  const TestResponse response = client.read_response();
  EXPECT_TRUE(response.body.ends_with("xgiven up"));
}

TEST_F(ServerTest, StopWaitsForAnswersAndThenCancels) {
  start({.drain_timeout = milliseconds(300)});
  TestClient idle(port());
  EXPECT_EQ(idle.ask(kGet).status, 200);
  TestClient client(port());
  client.send(kWait);
  ASSERT_TRUE(eventually([&] { return n_waiting_ == 1; }));
  server_->stop();
  EXPECT_FALSE(idle.read_more());
  EXPECT_FALSE(client.read_more());
  thread_.join();
  EXPECT_TRUE(ended_);
  EXPECT_EQ(n_disconnects_, 1);
  EXPECT_FALSE(TestClient(port()).connected());
  waiting_.reset();
  server_.reset();
}

TEST_F(ServerTest, StopLetsAnswersFinish) {
  start({.drain_timeout = milliseconds(20'000)});
  TestClient client(port());
  client.send(kWait);
  ASSERT_TRUE(eventually([&] { return n_waiting_ == 1; }));
  server_->stop();
  waiting_->post([reply = waiting_] { reply->send({.body = "finished"}); });
  EXPECT_EQ(client.read_response().body, "finished");
  EXPECT_FALSE(client.read_more());
  EXPECT_EQ(n_disconnects_, 0);
}

// As one that comes after a program said that it serves, and before it does.
TEST(Server, ASignalBeforeItRunsIsNotLost) {
  const auto server = HttpServer::create({.port = 0, .stop_on_signals = true}, {});
  ASSERT_TRUE(server);
  (*server)->watch_signals();
  ASSERT_EQ(std::raise(SIGTERM), 0);
  EXPECT_TRUE((*server)->run());
}

TEST(ServerAddress, WrongOnesAreErrors) {
  EXPECT_EQ(HttpServer::create({.host = "not an address"}, {}).error().code(), Code::invalid);
  const auto first = HttpServer::create({.port = 0}, {});
  ASSERT_TRUE(first);
  const auto second = HttpServer::create({.port = (*first)->port()}, {});
  EXPECT_EQ(second.error().code(), Code::unavailable);
}

}  // namespace
}  // namespace ruv
