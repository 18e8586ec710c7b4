#include "net/http/bulk_turns.h"

#include <gtest/gtest.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <string>

namespace ruv {
namespace {

namespace asio = boost::asio;

asio::awaitable<void> take_turns(BulkTurns& turns, char name, int n, std::string& log) {
  for (int i = 0; i < n; ++i) {
    co_await turns.next();
    log += name;
  }
}

TEST(BulkTurns, GoRound) {
  asio::io_context io{1};
  BulkTurns turns(io);
  std::string log;
  asio::co_spawn(io, take_turns(turns, 'a', 3, log), asio::detached);
  asio::co_spawn(io, take_turns(turns, 'b', 1, log), asio::detached);
  asio::co_spawn(io, take_turns(turns, 'c', 3, log), asio::detached);
  io.run();
  EXPECT_EQ(log, "abcacac");
}

// However many wait, what is ready beside them waits for one turn.
TEST(BulkTurns, LetOthersInBetween) {
  asio::io_context io{1};
  BulkTurns turns(io);
  std::string log;
  for (int i = 0; i < 10; ++i) {
    asio::co_spawn(io, take_turns(turns, 'b', 2, log), asio::detached);
  }
  std::function<void()> shorter = [&] {
    log += '.';
    if (log.find("bbbbb") == log.npos && log.size() < 40) asio::post(io, shorter);
  };
  asio::post(io, shorter);
  io.run();
  EXPECT_EQ(log.find("bb"), log.npos) << log;
}

TEST(BulkTurns, BeginAgainAfterNobodyWaited) {
  asio::io_context io{1};
  BulkTurns turns(io);
  std::string log;
  for (const char name : {'a', 'b'}) {
    asio::co_spawn(io, take_turns(turns, name, 2, log), asio::detached);
    io.run();
    io.restart();
  }
  EXPECT_EQ(log, "aabb");
}

TEST(BulkTurns, WhoWaitsAtTheEndIsDropped) {
  asio::io_context io{1};
  BulkTurns turns(io);
  std::string log;
  asio::co_spawn(io, take_turns(turns, 'a', 2, log), asio::detached);
  io.poll_one();  // it waits
  EXPECT_EQ(log, "");
}

}  // namespace
}  // namespace ruv
