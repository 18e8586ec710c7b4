// Replies of the same process, mostly on one thread: what is posted waits until it is asked for.
#include "net/local/local_reply.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <thread>

namespace ruv {
namespace {

using State = LocalReply::State;

class LocalReplyTest : public testing::Test {
 protected:
  // Does what is there to be done.
  State look() { return reply_->wait(std::chrono::steady_clock::now()); }
  State wait() { return reply_->wait(std::nullopt); }

  NetworkTurn turn_;
  std::shared_ptr<LocalReply> reply_ = std::make_shared<LocalReply>(turn_);
};

TEST_F(LocalReplyTest, WorksRunInTheirOrderOnTheWaitingThread) {
  std::string order;
  reply_->post_soon([&] { order += 'a'; });
  reply_->post([&] { order += 'b'; });
  reply_->post_soon([&] { order += 'c'; });
  EXPECT_EQ(order, "");
  EXPECT_EQ(look(), State::waiting);
  EXPECT_EQ(order, "abc");
  EXPECT_EQ(look(), State::waiting);
}

TEST_F(LocalReplyTest, PiecesAreTakenTogetherAndThenTheEnd) {
  reply_->post_soon([&] {
    reply_->begin_stream();
    reply_->write("one, ");
    reply_->write("");
    reply_->write("two, ");
  });
  reply_->post([&] { reply_->write_last("three"); });
  EXPECT_EQ(wait(), State::piece);
  EXPECT_TRUE(reply_->is_stream());
  EXPECT_EQ(reply_->status(), 200);
  EXPECT_EQ(reply_->take(), "one, two, three");
  EXPECT_EQ(reply_->take(), "");
  EXPECT_EQ(wait(), State::ended);
  EXPECT_EQ(wait(), State::ended);
}

TEST_F(LocalReplyTest, NothingRunsAfterTheEnd) {
  bool ran = false;
  reply_->post([&] { reply_->send({.status = 404, .body = "none"}); });
  reply_->post([&] { ran = true; });
  EXPECT_EQ(wait(), State::piece);
  reply_->post([&] { ran = true; });
  EXPECT_EQ(reply_->take(), "none");
  EXPECT_EQ(wait(), State::ended);
  EXPECT_EQ(reply_->status(), 404);
  EXPECT_FALSE(ran);
}

TEST_F(LocalReplyTest, AWaitingThreadIsWokenForEachKind) {
  for (int i = 0; i < 20; ++i) {
    std::thread other([&] {
      const auto write = [this] { reply_->write("a"); };
      i % 2 == 0 ? reply_->post_soon(write) : reply_->post(write);
    });
    EXPECT_EQ(wait(), State::piece);
    EXPECT_EQ(reply_->take(), "a");
    other.join();
  }
  std::thread other([&] { reply_->cancel(); });
  EXPECT_EQ(wait(), State::cancelled);
  other.join();
}

TEST_F(LocalReplyTest, ManyThreadsLoseNothing) {
  constexpr int kEach = 2000;
  int n_run = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < kEach; ++i) {
        const auto count = [&] {
          if (++n_run == 3 * kEach) reply_->send({.body = "all"});
        };
        i % 3 == 0 ? reply_->post(count) : reply_->post_soon(count);
      }
    });
  }
  EXPECT_EQ(wait(), State::piece);
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(n_run, 3 * kEach);
}

TEST_F(LocalReplyTest, CancellingTellsTheRouteAndDropsTheRest) {
  int n_told = 0;
  reply_->post([&] {
    reply_->on_disconnect([&] { ++n_told; });
    reply_->write("not taken");
  });
  EXPECT_EQ(look(), State::piece);
  const std::stop_token stop = reply_->stop_token();
  EXPECT_FALSE(stop.stop_requested());
  reply_->cancel();
  reply_->cancel();
  EXPECT_EQ(n_told, 1);
  EXPECT_TRUE(stop.stop_requested());
  EXPECT_EQ(wait(), State::cancelled);
  EXPECT_EQ(reply_->take(), "");
}

TEST_F(LocalReplyTest, AnExceptionEndsTheAnswer) {
  reply_->post([] { throw std::runtime_error("lost"); });
  EXPECT_EQ(wait(), State::failed);
  auto other = std::make_shared<LocalReply>(turn_);
  other->post([&] { other->send_pieces(0, []() -> std::string { throw std::bad_alloc(); }); });
  EXPECT_EQ(other->wait(std::nullopt), State::failed);
}

TEST_F(LocalReplyTest, APartAtATimeIsMadeOfAnAnswerInPieces) {
  reply_->post([&] {
    reply_->send_pieces(0, [n = 0]() mutable { return ++n < 3 ? std::to_string(n) : ""; });
  });
  EXPECT_EQ(wait(), State::piece);
  EXPECT_EQ(reply_->take(), "1");
  EXPECT_EQ(wait(), State::piece);
  EXPECT_EQ(reply_->take(), "2");
  EXPECT_EQ(wait(), State::ended);
}

TEST_F(LocalReplyTest, VectorsAreAnEndWithoutBytes) {
  reply_->post([&] { reply_->send_vectors({.vectors = {{.numbers = {1, 2}}}}); });
  EXPECT_EQ(wait(), State::ended);
  ASSERT_TRUE(reply_->vectors());
  EXPECT_EQ(reply_->vectors()->vectors.size(), 1u);
}

}  // namespace
}  // namespace ruv
