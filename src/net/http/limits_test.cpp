// What no client can do to the server: hold its workers, its memory or its end.
#include <algorithm>

#include "net/http/test_server.h"

namespace ruv::limits_test {
namespace {

const std::string kHead = "POST /hold HTTP/1.1\r\nHost: localhost\r\n";
const std::string kHold = kHead + "Content-Length: 2\r\n\r\n{}";

std::string get(const std::string& path) {
  return "GET " + path + " HTTP/1.1\r\nHost: localhost\r\n\r\n";
}

TEST_F(ServerTest, NetworkRoutesDoNotWaitForWorkers) {
  start({.n_workers = 1});
  TestClient busy(port());
  busy.send(kHold);
  ASSERT_TRUE(eventually([&] { return n_held_ == 1; }));
  for (int i = 0; i < 100; ++i) EXPECT_EQ(TestClient(port()).ask(get("/quick")).body, "quick");
  release_ = true;
  EXPECT_EQ(busy.read_response().body, "held");
}

// Heads that do not end hold what they sent, and no more than all of them may.
TEST_F(ServerTest, UnfinishedHeadsHaveABudget) {
  start({.budget = {.buffers = 100'000}, .header_timeout = milliseconds(60'000)});
  std::vector<std::unique_ptr<TestClient>> slow;
  for (int i = 0; i < 6; ++i) {
    slow.push_back(std::make_unique<TestClient>(port()));
    slow.back()->send("GET /quick HTTP/1.1\r\nX-Slow: " + std::string(30'000, 'x'));
  }
  EXPECT_TRUE(eventually(
      [&] { return std::ranges::any_of(slow, [](auto& client) { return client->has_ended(); }); }));
  slow.clear();
  EXPECT_TRUE(eventually([&] { return TestClient(port()).ask(get("/quick")).status == 200; }));
}

// A buffer belongs to a request: what a long one took is given back at its end.
TEST_F(ServerTest, IdleConnectionsHoldNoBuffers) {
  start({.budget = {.buffers = 100'000}});
  std::vector<std::unique_ptr<TestClient>> idle;
  for (int i = 0; i < 20; ++i) {
    idle.push_back(std::make_unique<TestClient>(port()));
    EXPECT_EQ(idle.back()->ask(post_bytes("/echo", std::string(50'000, 'x'))).body.size(), 50'000U);
  }
}

TEST_F(ServerTest, AClientThatHasLeftIsNotServed) {
  start({.n_workers = 1});
  TestClient busy(port());
  busy.send(kHold);
  ASSERT_TRUE(eventually([&] { return n_held_ == 1; }));
  {
    TestClient gone(port());
    gone.send(kHold);
    TestClient behind(port());
    EXPECT_EQ(behind.ask(get("/quick")).status, 200);  // so gone's request has been read
  }
  // Its end is noticed before this is answered.
  EXPECT_EQ(TestClient(port()).ask(get("/quick")).status, 200);
  EXPECT_EQ(TestClient(port()).ask(get("/quick")).status, 200);
  release_ = true;
  EXPECT_EQ(busy.read_response().body, "held");
  EXPECT_EQ(TestClient(port()).ask(post_bytes("/echo", "x")).body, "x");
  EXPECT_EQ(n_held_, 1);
}

TEST_F(ServerTest, AWorkerIsToldThatItsClientHasLeft) {
  heeds_stop_ = true;
  start({.n_workers = 1});
  TestClient client(port());
  client.send(kHold);
  ASSERT_TRUE(eventually([&] { return n_held_ == 1; }));
  client.close();
  EXPECT_EQ(TestClient(port()).ask(post_bytes("/echo", "x")).body, "x");
}

TEST_F(ServerTest, StopDoesNotWaitForAWorkerThatHangs) {
  start({.n_workers = 1, .drain_timeout = milliseconds(50), .worker_timeout = milliseconds(50)});
  TestClient busy(port());
  busy.send(kHold);
  ASSERT_TRUE(eventually([&] { return n_held_ == 1; }));
  TestClient queued(port());
  queued.send(kHold);
  ended_ = true;
  server_->stop();
  thread_.join();
  EXPECT_FALSE(ended_);
  EXPECT_FALSE(busy.read_more());
  EXPECT_FALSE(queued.read_more());
  EXPECT_EQ(n_held_, 1);  // what had not begun never does
  release_ = true;
  server_.reset();
}

TEST_F(ServerTest, StopTellsWorkers) {
  heeds_stop_ = true;
  start({.drain_timeout = milliseconds(50), .worker_timeout = milliseconds(20'000)});
  TestClient busy(port());
  busy.send(kHold);
  ASSERT_TRUE(eventually([&] { return n_held_ == 1; }));
  server_->stop();
  thread_.join();
  EXPECT_TRUE(ended_);
}

TEST_F(ServerTest, BodiesThatAreDeclaredAndNotSentTakeNoRoom) {
  start({.budget = {.bodies = 10'000}});
  std::vector<std::unique_ptr<TestClient>> silent;
  for (int i = 0; i < 8; ++i) {
    silent.push_back(std::make_unique<TestClient>(port()));
    silent.back()->send(kHead + (i % 2 == 0 ? "Content-Length: 8388608\r\n\r\n"
                                            : "Transfer-Encoding: chunked\r\n\r\n"));
  }
  EXPECT_EQ(TestClient(port()).ask(post_bytes("/echo", "x")).status, 200);
}

TEST_F(ServerTest, TheKeyIsCheckedBeforeTheBody) {
  start({.api_keys = ApiKeys("secret")});
  TestClient client(port());
  // No byte of the body is ever sent.
  const TestResponse response = client.ask(kHead + "Content-Length: 8388608\r\n\r\n");
  EXPECT_EQ(response.status, 401);
  EXPECT_FALSE(client.read_more());
  EXPECT_EQ(TestClient(port()).ask(kHead + "Transfer-Encoding: chunked\r\n\r\n").status, 401);
  EXPECT_EQ(
      TestClient(port()).ask(kHead + "Expect: 100-continue\r\nContent-Length: 5\r\n\r\n").status,
      401);
}

TEST_F(ServerTest, TheHeadDecidesBeforeTheBody) {
  start({.max_body_bytes = 1'000'000});
  const auto status = [&](const std::string& head) { return TestClient(port()).ask(head).status; };
  EXPECT_EQ(status(kHead + "Content-Length: 1000001\r\n\r\n"), 413);
  EXPECT_EQ(status("POST /nothing HTTP/1.1\r\nHost: localhost\r\nContent-Length: 999999\r\n\r\n"),
            404);
  EXPECT_EQ(status("PUT /hold HTTP/1.1\r\nHost: localhost\r\nContent-Length: 999999\r\n\r\n"), 405);
  // A route without a body reads a small one and drops it.
  EXPECT_EQ(status("GET /quick HTTP/1.1\r\nHost: localhost\r\nContent-Length: 999999\r\n\r\n"),
            413);
  EXPECT_EQ(status("GET /quick HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3\r\n\r\nabc"), 200);
}

TEST_F(ServerTest, AConnectionGoesOnBehindASmallBodyThatNobodyWants) {
  start({});
  TestClient client(port());
  EXPECT_EQ(client.ask(post_bytes("/nothing", std::string(60'000, 'x'))).status, 404);
  EXPECT_EQ(client.ask(get("/quick")).status, 200);
}

TEST_F(ServerTest, ParsingHasABudget) {
  start({.budget = {.parsing = 1000 * kParseBytesPerBodyByte}});
  TestClient client(port());
  EXPECT_EQ(client.ask(post_bytes("/echo", std::string(1000, 'x'))).status, 200);
  EXPECT_EQ(client.ask(post_bytes("/echo", std::string(1001, 'x'))).status, 503);
  EXPECT_EQ(client.ask(post_bytes("/echo", std::string(1000, 'x'))).status, 200);
}

TEST_F(ServerTest, AnswersThatWaitHaveABudget) {
  start({.budget = {.answers = 64 << 20}, .write_timeout = milliseconds(60'000)});
  TestClient slow(port());
  slow.send(get("/bytes/60000000"));
  ASSERT_TRUE(slow.read_until("\r\n\r\n"));  // and no more: the rest waits in the server
  const TestResponse refused = TestClient(port()).ask(get("/bytes/60000000"));
  EXPECT_EQ(refused.status, 503);
  EXPECT_NE(refused.body.find("overloaded"), std::string::npos);
  EXPECT_EQ(TestClient(port()).ask(get("/bytes/40000")).status, 200);
  slow.close();
  EXPECT_TRUE(
      eventually([&] { return TestClient(port()).ask(get("/bytes/60000000")).status == 200; }));
}

TEST_F(ServerTest, WhatIsBeingWrittenCountsAsWaiting) {
  constexpr int64_t kLimit = 32 << 20;  // more than a socket takes
  start({.max_queued_bytes = kLimit, .write_timeout = milliseconds(60'000)});
  TestClient client(port());
  client.send(kWait);
  ASSERT_TRUE(eventually([&] { return n_waiting_ == 1; }));
  std::atomic<int> refused{-1};
  waiting_->post([this, &refused] {
    waiting_->begin_stream();
    EXPECT_TRUE(waiting_->write(std::string(kLimit, 'x')));
    // When this runs, the connection has begun to write those bytes: none are queued.
    waiting_->post([this, &refused] {
      waiting_->post([this, &refused] {
        refused = waiting_->write("more") ? 0 : 1;
        waiting_->write_last("end");
      });
    });
  });
  ASSERT_TRUE(eventually([&] { return refused >= 0; }));
  EXPECT_EQ(refused, 1);
}

TEST_F(ServerTest, ASteadyReaderIsNeverGivenUp) {
  start({.max_queued_writes = 4});
  TestClient client(port());
  client.send(kWait);
  ASSERT_TRUE(eventually([&] { return n_waiting_ == 1; }));
  std::string expected;
  waiting_->post([this] { waiting_->begin_stream(); });
  for (int i = 0; i < 200; ++i) {
    const std::string piece = "piece " + std::to_string(i) + ";";
    expected += piece;
    waiting_->post([this, piece] { EXPECT_TRUE(waiting_->write(piece)); });
    ASSERT_TRUE(client.read_until(piece));
  }
  waiting_->post([this] { waiting_->write_last(""); });
  EXPECT_EQ(client.read_response().body, expected);
}

// Of an answer in pieces as many are made as the sockets take.
TEST_F(ServerTest, PiecesAreMadeAsTheClientReads) {
  constexpr int kPieces = 4096;
  constexpr size_t kPieceBytes = 16 << 10;  // 64 MB in all
  start({.write_timeout = milliseconds(60'000)});
  TestClient client(port());
  client.send(kWait);
  ASSERT_TRUE(eventually([&] { return n_waiting_ == 1; }));
  std::atomic<int> n_made{0};
  waiting_->post([this, &n_made] {
    waiting_->send_pieces(1000, [&n_made] {
      return n_made++ < kPieces ? std::string(kPieceBytes, 'p') : std::string();
    });
  });
  ASSERT_TRUE(client.read_until("\r\n\r\n"));
  EXPECT_EQ(TestClient(port()).ask(get("/quick")).status, 200);
  EXPECT_LT(n_made, kPieces);
  const TestResponse whole = client.read_response();
  EXPECT_EQ(whole.status, 200);
  EXPECT_NE(whole.headers.find("application/json"), std::string::npos);
  EXPECT_EQ(whole.body.size(), kPieces * kPieceBytes);
  EXPECT_EQ(client.ask(get("/quick")).status, 200);  // the connection goes on
}

TEST_F(ServerTest, PiecesEndWithTheirClient) {
  start({.write_timeout = milliseconds(60'000)});
  for (const bool throws : {false, true}) {
    TestClient client(port());
    const int n_before = n_waiting_;
    client.send(kWait);
    ASSERT_TRUE(eventually([&] { return n_waiting_ == n_before + 1; }));
    auto held = std::make_shared<int>(0);
    const std::weak_ptr<int> watch = held;
    waiting_->post([this, throws, held = std::move(held)]() mutable {
      waiting_->send_pieces(1000, [throws, held = std::move(held)] {
        if (throws && ++*held == 3) throw std::bad_alloc();
        return std::string(1 << 20, 'p');
      });
    });
    ASSERT_TRUE(client.read_until("\r\n\r\n"));
    if (throws) {
      EXPECT_EQ(client.read_response().status, 0);  // it breaks off
    } else {
      client.close();
    }
    EXPECT_TRUE(eventually([&] { return watch.expired(); }));
    waiting_.reset();
  }
  EXPECT_EQ(TestClient(port()).ask(get("/quick")).status, 200);
}

TEST_F(ServerTest, WhatPiecesHoldCountsAsWaiting) {
  start({.budget = {.answers = 1 << 20}});
  TestClient client(port());
  client.send(kWait);
  ASSERT_TRUE(eventually([&] { return n_waiting_ == 1; }));
  waiting_->post([this] { waiting_->send_pieces(2 << 20, [] { return std::string("never"); }); });
  EXPECT_EQ(client.read_response().status, 503);
}

TEST_F(ServerTest, OnlyOneTransferEncodingIsUnderstood) {
  start({});
  const auto status = [&](const std::string& headers) {
    TestClient client(port());
    const TestResponse response =
        client.ask("POST /echo HTTP/1.1\r\nHost: localhost\r\n" + headers + "\r\n" + get("/quick"));
    EXPECT_FALSE(client.read_more()) << headers;  // the rest is no request
    EXPECT_EQ(client.received(), "") << headers;
    return response.status;
  };
  for (const char* encoding : {"xchunked", "identity", "\"chunked\"", "chunked, identity",
                               "gzip, chunked", "chunked, chunked", "chunked;x=1", ""}) {
    EXPECT_EQ(status("Transfer-Encoding: " + std::string(encoding) + "\r\n"), 501) << encoding;
  }
  EXPECT_EQ(status("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n"), 400);
  EXPECT_EQ(status("Transfer-Encoding: chunked\r\nContent-Length: 3\r\n"), 400);
  EXPECT_EQ(status("Content-Length: 3\r\nTransfer-Encoding: xchunked\r\n"), 400);
  EXPECT_EQ(status("Content-Length: 3\r\nContent-Length: 4\r\n"), 400);
  EXPECT_EQ(TestClient(port())
                .ask("POST /echo HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: Chunked\r\n\r\n"
                     "1\r\na\r\n0\r\n\r\n")
                .body,
            "a");
  EXPECT_EQ(
      TestClient(port()).ask("POST /echo HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n").status,
      400);
}

TEST_F(ServerTest, HeadsFollowTheRules) {
  start({});
  const auto status = [&](const std::string& bytes) {
    return TestClient(port()).ask(bytes).status;
  };
  EXPECT_EQ(status("GET /quick HTTP/1.1\r\n\r\n"), 400);  // no Host
  EXPECT_EQ(status("GET /quick HTTP/1.1\r\nHost: localhost\r\nHost: localhost\r\n\r\n"), 400);
  EXPECT_EQ(status("GET /quick HTTP/1.0\r\n\r\n"), 200);
  EXPECT_EQ(status("GET /quick HTTP/1.1\r\nHost: localhost\r\nX: a\r\n b\r\n\r\n"), 400);  // folded
  EXPECT_EQ(status("GET /quick HTTP/1.1\r\nHost: localhost\n\r\n\r\n"), 400);
  EXPECT_EQ(status("GET /quick HTTP/1.1\r\nHost : localhost\r\n\r\n"), 400);
  EXPECT_EQ(status("\r\n\r\n" + get("/quick")), 200);  // empty lines before a request
  EXPECT_EQ(status("\rGET"), 400);
}

TEST_F(ServerTest, RequestsFarAheadWaitTheirTurn) {
  start({});
  TestClient client(port());
  constexpr int kRequests = 3000;
  std::thread sender([&] {
    std::string bytes;
    for (int i = 0; i < kRequests; ++i) bytes += get("/quick");
    EXPECT_TRUE(client.send(bytes));
  });
  for (int i = 0; i < kRequests; ++i) ASSERT_EQ(client.read_response().body, "quick") << i;
  sender.join();
}

TEST_F(ServerTest, ALargeRequestBehindDoesNotCancelTheFirst) {
  start({});
  TestClient client(port());
  const std::string large(100'000, 'y');
  client.send(kWait + post_bytes("/echo", large));
  ASSERT_TRUE(eventually([&] { return n_waiting_ == 1; }));
  EXPECT_EQ(TestClient(port()).ask(get("/quick")).status, 200);
  EXPECT_EQ(n_disconnects_, 0);
  waiting_->post([reply = waiting_] { reply->send({.body = "first"}); });
  EXPECT_EQ(client.read_response().body, "first");
  EXPECT_EQ(client.read_response().body, large);
}

TEST_F(ServerTest, ErrorsQuoteLittleOfTheRequest) {
  start({});
  TestClient client(port());
  const std::string path(50'000, 'p');
  EXPECT_LT(client.ask(get("/" + path)).body.size(), 1000U);
  EXPECT_LT(client.ask(std::string(50'000, 'M') + " /quick HTTP/1.1\r\nHost: localhost\r\n\r\n")
                .body.size(),
            1000U);
  EXPECT_LT(client.ask(get("/tail/" + path).replace(0, 3, "PUT")).body.size(), 1000U);
}

}  // namespace
}  // namespace ruv::limits_test
