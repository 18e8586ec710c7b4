#include "net/http/request_gate.h"

#include <gtest/gtest.h>

#include "net/http/test_server.h"

namespace ruv {
namespace request_gate_test {

// What a call got; complete when `ended` is set.
struct Relayed {
  int status = 0;
  std::string body;
  RelayCut cut = RelayCut::none;
  std::atomic<bool> ended{false};
};

class RequestGateTest : public ServerTest {
 protected:
  // Takes the answer as a transport does. `reads`: false: nothing is taken.
  std::shared_ptr<Relayed> ask(RelayedCall call, bool reads = true) {
    auto answer = std::make_shared<Relayed>();
    server_->gate().post([this, answer, reads, call = std::move(call)]() mutable {
      request_ = server_->gate().begin(std::move(call), [this, answer, reads] {
        if (reads || request_->reply().cut() != RelayCut::none) advance(*answer);
      });
    });
    return answer;
  }
  void advance(Relayed& answer) {
    if (answer.ended) return;
    const auto request = request_;
    RelayedReply& reply = request->reply();
    for (std::string bytes = reply.take(); !bytes.empty(); bytes = reply.take()) {
      answer.body += bytes;
      reply.mark_taken();
    }
    if (!reply.at_end() && reply.cut() == RelayCut::none) return;
    if (reply.head()) answer.status = reply.head()->status;
    answer.cut = reply.cut();
    request->end();
    request_.reset();
    answer.ended = true;
  }
  static void wait_for(const std::shared_ptr<Relayed>& answer) {
    ASSERT_TRUE(eventually([&] { return answer->ended.load(); }));
  }
  void TearDown() override {
    ServerTest::TearDown();
    request_.reset();
  }

  std::shared_ptr<RelayedRequest> request_;  // used on the network thread
};

TEST_F(RequestGateTest, HasRoutesAnswer) {
  std::atomic<int> n_records{0};
  RequestRecord last;
  ServerOptions options;
  options.on_request = [&](const RequestRecord& record) {
    last = record;
    ++n_records;
  };
  start(std::move(options));
  const auto answer = ask({.route = "/echo",
                           .path = "/service/Echo",
                           .headers = {{"x-request-id", "mine"}, {"other", "value"}},
                           .body = "sent"});
  wait_for(answer);
  EXPECT_EQ(answer->status, 200);
  EXPECT_EQ(answer->body, "sent");
  ASSERT_TRUE(eventually([&] { return n_records == 1; }));
  EXPECT_EQ(last.id, "mine");
  EXPECT_EQ(last.path, "/service/Echo");
  EXPECT_EQ(last.route, "/echo");
  EXPECT_FALSE(last.is_cut);

  const auto missing = ask({.route = "/nowhere", .path = ""});
  wait_for(missing);
  EXPECT_EQ(missing->status, 404);
}

TEST_F(RequestGateTest, AsksForKeysBeforeItShowsARefusal) {
  start({.api_keys = ApiKeys("secret")});
  RelayedCall call{.route = "/echo", .path = "", .refusal = HttpResponse{.status = 400}};
  const auto without = ask(call);
  wait_for(without);
  EXPECT_EQ(without->status, 401);
  call.headers = {{"authorization", "Bearer secret"}};
  const auto refused = ask(call);
  wait_for(refused);
  EXPECT_EQ(refused->status, 400);
  call.refusal.reset();
  call.body = "x";
  const auto with = ask(call);
  wait_for(with);
  EXPECT_EQ(with->body, "x");
}

// The address that HTTP/1.1 has in Host, and pages elsewhere.
TEST_F(RequestGateTest, ChecksWhoMayCall) {
  start({});
  for (const auto& [name, value] :
       {std::pair("host", "evil.example"), std::pair("origin", "https://evil.example")}) {
    const auto answer = ask({.route = "/echo", .path = "", .headers = {{name, value}}});
    wait_for(answer);
    EXPECT_EQ(answer->status, 403) << name;
  }
}

TEST_F(RequestGateTest, GivesUpATransportThatTakesNothing) {
  ServerOptions options;
  options.max_queued_bytes = 1 << 20;
  options.write_timeout = milliseconds(50);
  std::vector<Route> routes;
  std::atomic<int> n_gone{0};
  std::atomic<size_t> n_bytes{0};
  routes.push_back({"POST", "/flood", [&](const HttpRequest&, const auto& reply) {
                      reply->post([&, reply] {
                        reply->on_disconnect([&] { ++n_gone; });
                        reply->begin_stream();
                        while (reply->write(std::string(1 << 16, 'x'))) n_bytes += 1 << 16;
                      });
                    }});
  server_ = *HttpServer::create({.port = 0,
                                 .max_queued_bytes = options.max_queued_bytes,
                                 .write_timeout = options.write_timeout},
                                std::move(routes));
  thread_ = std::thread([this] { ended_ = server_->run(); });
  auto answer = std::make_shared<Relayed>();
  server_->gate().post([&, answer] {
    request_ = server_->gate().begin({.route = "/flood", .path = ""}, [&, answer] {
      RelayedReply& reply = request_->reply();
      if (reply.cut() != RelayCut::none) return advance(*answer);
      static_cast<void>(reply.take());  // and says never that it is gone
    });
  });
  wait_for(answer);
  EXPECT_EQ(answer->cut, RelayCut::slow);
  EXPECT_EQ(n_gone, 1);
  EXPECT_GT(n_bytes, size_t{1} << 19);
  EXPECT_LT(n_bytes, size_t{2} << 20);
}

TEST_F(RequestGateTest, AStopEndsWhatDoesNotEnd) {
  start({.drain_timeout = milliseconds(50)});
  server_->gate().post([this] { server_->gate().on_stop([this] { ++n_held_; }); });
  const auto answer = ask({.route = "/wait-post", .path = ""});
  wait_for(answer);
  EXPECT_EQ(answer->status, 404);
  const auto held = ask({.route = "/hold", .path = ""});
  ASSERT_TRUE(eventually([&] { return n_held_ == 1; }));
  heeds_stop_ = true;
  server_->stop();
  wait_for(held);
  EXPECT_EQ(held->cut, RelayCut::stopping);
  thread_.join();
  EXPECT_TRUE(ended_);
  EXPECT_EQ(n_held_, 2);
}

}  // namespace request_gate_test
}  // namespace ruv
