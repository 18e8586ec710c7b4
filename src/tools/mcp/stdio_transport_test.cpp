#include "tools/mcp/stdio_transport.h"

#include <gtest/gtest.h>

namespace ruv {
namespace {

// Collects what is heard, and lets a test wait for it.
class HeardMessages final : public McpListener {
 public:
  void on_message(std::string_view message) override {
    const Lock lock(mutex_);
    messages_.emplace_back(message);
    changed_.notify_all();
  }
  void on_hearing() override {}
  void on_closed(const Status& reason) override {
    const Lock lock(mutex_);
    reason_ = reason;
    changed_.notify_all();
  }
  std::vector<std::string> wait_for(size_t n) {
    Lock lock(mutex_);
    changed_.wait(lock, [&] { return messages_.size() >= n; });
    return messages_;
  }
  Status wait_for_end() {
    Lock lock(mutex_);
    changed_.wait(lock, [&] { return !reason_.ok(); });
    return reason_;
  }

 private:
  Mutex mutex_;
  Condition changed_;
  std::vector<std::string> messages_;
  Status reason_;
};

ProcessOptions shell(std::string script) { return {.argv = {"sh", "-c", std::move(script)}}; }

TEST(StdioTransport, SendsAndReceivesLines) {
  HeardMessages heard;
  StdioTransport transport({.argv = {"cat"}});
  ASSERT_TRUE(transport.open(heard).ok());
  const std::string large(3 << 20, 'x');  // more than a pipe holds
  ASSERT_TRUE(transport.send("one", {}));
  ASSERT_TRUE(transport.send(large, {}));
  ASSERT_TRUE(transport.send("two", {}));
  const auto messages = heard.wait_for(3);
  EXPECT_EQ(messages[0], "one");
  EXPECT_TRUE(messages[1] == large);
  EXPECT_EQ(messages[2], "two");
  transport.close();
  transport.close();
}

TEST(StdioTransport, SaysHowAServerEnded) {
  HeardMessages heard;
  StdioTransport transport(shell("echo 'no licence' >&2; read line; exit 3"));
  ASSERT_TRUE(transport.open(heard).ok());
  ASSERT_TRUE(transport.send("x", {}));
  const Status end = heard.wait_for_end();
  EXPECT_EQ(end.message(), "sh: the server ended with exit code 3; it wrote: no licence");
  EXPECT_EQ(transport.send("x", {}).error().code(), Code::unavailable);
}

TEST(StdioTransport, RefusesEndlessLines) {
  HeardMessages heard;
  StdioTransport transport(shell("head -c 20000000 /dev/zero; cat"));
  ASSERT_TRUE(transport.open(heard).ok());
  EXPECT_EQ(heard.wait_for_end().code(), Code::corrupt);
}

TEST(StdioTransport, EndsServersThatDoNotEnd) {
  HeardMessages heard;
  StdioTransport transport(shell("trap 'exit 0' TERM; while :; do sleep 0.05; done"));
  ASSERT_TRUE(transport.open(heard).ok());
  transport.close();  // returns
}

TEST(StdioTransport, NamesAProgramThatIsMissing) {
  HeardMessages heard;
  StdioTransport transport({.argv = {"no-such-program"}});
  EXPECT_EQ(transport.open(heard).code(), Code::not_found);
}

}  // namespace
}  // namespace ruv
