#include "net/responses/event_log.h"

#include <gtest/gtest.h>

#include "net/openai/answer_writer.h"

namespace ruv {
namespace {

TEST(EventLog, NumbersEventsWhateverTheyComeIn) {
  EventLog log(1 << 20);
  EXPECT_EQ(log.n_events(), 0);
  EXPECT_EQ(log.from(0), "");
  log.add(sse_event("a", "0") + sse_event("a", "1"));
  log.add("");
  log.add(sse_event("a", "2"));
  EXPECT_EQ(log.n_events(), 3);
  EXPECT_EQ(log.from(0), sse_event("a", "0") + sse_event("a", "1") + sse_event("a", "2"));
  EXPECT_EQ(log.from(2), sse_event("a", "2"));
  EXPECT_EQ(log.from(3), "");
  EXPECT_EQ(log.from(100), "");
}

TEST(EventLog, ForgetsTheOldestWhereItIsFull) {
  EventLog log(1000);
  for (int i = 0; i < 100; ++i) {
    log.add(sse_event("a", std::to_string(i)));
    EXPECT_LE(log.n_bytes(), 1000U);
    EXPECT_EQ(log.n_events(), i + 1);
  }
  const int64_t first = log.n_forgotten();
  EXPECT_GT(first, 50);
  EXPECT_LT(first, 99);
  EXPECT_TRUE(log.from(first).starts_with(sse_event("a", std::to_string(first))));
  EXPECT_EQ(log.from(99), sse_event("a", "99"));
}

TEST(EventLog, AnEventLargerThanAllRoomIsNumberedAndForgotten) {
  EventLog log(1000);
  log.add(sse_event("a", "0"));
  log.add(sse_event("a", std::string(2000, 'x')));
  EXPECT_EQ(log.n_events(), 2);
  EXPECT_EQ(log.n_forgotten(), 2);
  EXPECT_EQ(log.n_bytes(), 0U);
  log.add(sse_event("a", "2"));
  EXPECT_EQ(log.from(2), sse_event("a", "2"));
  log.forget_all();
  EXPECT_EQ(log.n_events(), 3);
  EXPECT_EQ(log.n_bytes(), 0U);
  EXPECT_EQ(log.from(3), "");
}

}  // namespace
}  // namespace ruv
