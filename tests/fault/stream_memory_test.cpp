// A stream ends when memory is out: its last event needs none, so no reader waits for ever.
#include <gtest/gtest.h>

#include <future>
#include <new>

#include "fault/allocations.h"
#include "fault/patience.h"
#include "ruv/stream.h"

namespace ruv {
namespace {

// Keeps the listener of its one request, for the test to call, and counts cancels.
class HeldAnswer final : public Engine {
 public:
  Result<RequestId> submit(Request request) override {
    tell = std::move(request.on_event);
    return RequestId{1};
  }
  void cancel(RequestId) override { ++n_cancels; }
  Load load() const override { return {}; }
  KvCacheStats kv_stats() const override { return {}; }
  SpeculativeStats speculative_stats() const override { return {}; }
  const Model& model() const override { std::abort(); }
  int64_t n_ctx() const override { return 1; }

  std::function<void(const Event&)> tell;
  int n_cancels = 0;
};

// As the engine does: an event that finds no memory is followed by one that needs none.
void tell_until_memory_is_out(HeldAnswer& engine) {
  Event token;
  token.ids = {1};
  token.text = "a text that is too long for the string's own bytes";
  Event last;
  last.finish = FinishReason::error;
  last.status = Status(Code::out_of_memory, "out of memory");
  bool failed = false;
  fail_allocations(1, 1'000'000);
  try {
    engine.tell(token);
  } catch (const std::bad_alloc&) {
    failed = true;
  }
  bool last_failed = false;
  try {
    engine.tell(last);
  } catch (const std::bad_alloc&) {
    last_failed = true;
  }
  let_allocations_succeed();
  EXPECT_TRUE(failed);
  EXPECT_FALSE(last_failed);
}

// Many events come before, so that the queue needs a new block at some of the counts.
TEST(StreamMemory, TheLastEventNeedsNoMemory) {
  if (!allocations_can_fail) GTEST_SKIP() << "not under a sanitizer";
  for (int n_before = 0; n_before < 40; ++n_before) {
    HeldAnswer engine;
    Stream stream = engine.stream({.prompt = {1}}).value();
    Event token;
    token.ids = {1};
    for (int i = 0; i < n_before; ++i) engine.tell(token);
    tell_until_memory_is_out(engine);
    auto answer = std::async(std::launch::async, [&] { return stream.collect(); });
    ASSERT_EQ(answer.wait_for(kPatience), std::future_status::ready)
        << n_before << " events before";
    const Result<Answer> ended = answer.get();
    ASSERT_FALSE(ended.has_value());
    EXPECT_EQ(ended.error().code(), Code::out_of_memory);
    EXPECT_EQ(engine.n_cancels, 0);
  }
}

TEST(StreamMemory, AStoppedReaderCancelsOnce) {
  HeldAnswer engine;
  Stream stream = engine.stream({.prompt = {1}}).value();
  int n_asked = 0;
  const auto should_stop = [&] {
    Event last;
    last.finish = FinishReason::cancelled;
    if (++n_asked == 4) engine.tell(last);
    return true;
  };
  const Result<Answer> answer = stream.collect({}, should_stop);
  EXPECT_EQ(answer->finish, FinishReason::cancelled);
  EXPECT_EQ(engine.n_cancels, 1);
}

}  // namespace
}  // namespace ruv
