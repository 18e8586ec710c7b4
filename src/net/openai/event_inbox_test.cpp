#include "net/openai/event_inbox.h"

#include <gtest/gtest.h>

namespace ruv {
namespace {

using Call = EventInbox::Call;

Event token(Token id, std::string text) {
  Event event;
  event.ids = {id};
  event.text = std::move(text);
  return event;
}

Event last(FinishReason finish) {
  Event event;
  event.finish = finish;
  return event;
}

TEST(EventInbox, AReaderIsCalledOnceForWhatComesUntilItTakes) {
  EventInbox inbox(true, false);
  EXPECT_EQ(inbox.put(0, token(1, "a")), Call::soon);
  EXPECT_EQ(inbox.put(0, token(2, "b")), Call::not_yet);
  EXPECT_EQ(inbox.put(0, last(FinishReason::stop)), Call::now);
  EXPECT_EQ(inbox.put(1, last(FinishReason::stop)), Call::not_yet);
  EXPECT_EQ(inbox.take().size(), 3u);
  EXPECT_TRUE(inbox.take().empty());
  EXPECT_EQ(inbox.put(1, token(3, "c")), Call::soon);
}

TEST(EventInbox, TextsOfAChoiceAreJoinedAndItsEndIsNot) {
  EventInbox inbox(true, false);
  Event first = token(1, "a");
  first.n_healed_bytes = 2;
  inbox.put(0, first);
  inbox.put(1, token(7, "x"));
  inbox.put(0, token(2, "b"));
  inbox.put(0, token(3, ""));
  inbox.put(0, last(FinishReason::error));
  const auto entries = inbox.take();
  ASSERT_EQ(entries.size(), 3u);
  EXPECT_EQ(entries[0].choice, 0u);
  EXPECT_EQ(entries[0].event.ids, (std::vector<Token>{1, 2, 3}));
  EXPECT_EQ(entries[0].event.text, "ab");
  EXPECT_EQ(entries[0].event.n_healed_bytes, 2);
  EXPECT_EQ(entries[1].event.text, "x");
  EXPECT_EQ(entries[2].event.finish, FinishReason::error);
  EXPECT_TRUE(entries[2].event.text.empty());
}

TEST(EventInbox, EventsWithMoreThanTextStayThemselves) {
  EventInbox inbox(true, false);
  Event scored = token(1, "a");
  scored.logprobs.emplace_back();
  inbox.put(0, scored);
  inbox.put(0, token(2, "b"));
  inbox.put(0, scored);
  EXPECT_EQ(inbox.take().size(), 3u);
  EventInbox apart(false, false);
  apart.put(0, token(1, "a"));
  apart.put(0, token(2, "b"));
  EXPECT_EQ(apart.take().size(), 2u);
}

TEST(EventInbox, AReaderThatWaitsIsCalledAtTheEnd) {
  EventInbox inbox(true, true);
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(inbox.put(0, token(i, "a")), Call::not_yet);
  EXPECT_EQ(inbox.put(0, last(FinishReason::length)), Call::now);
  const auto entries = inbox.take();
  ASSERT_EQ(entries.size(), 2u);
  EXPECT_EQ(entries[0].event.text, std::string(1000, 'a'));
}

TEST(EventInbox, WhatCannotBeJoinedDoesNotPileUp) {
  EventInbox inbox(false, true);
  int n = 1;
  while (inbox.put(0, token(1, "a")) == Call::not_yet && n < 1000) ++n;
  EXPECT_EQ(n, 64);
}

}  // namespace
}  // namespace ruv
