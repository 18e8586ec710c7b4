#include "net/local/guest_engine.h"

#include <gtest/gtest.h>

#include <atomic>

#include "net/scripted_engine.h"

namespace ruv {
namespace {

Script endless() {
  Script script;
  script.events.resize(1);
  script.events[0].text = "x";
  script.endless = true;
  script.pause = std::chrono::microseconds(100);
  return script;
}

TEST(GuestEngine, ItsEndEndsItsOwnRequestsAndNoOthers) {
  std::atomic<int> n_ended{0}, n_ended_of_host{0};  // the engine's last events count, too
  ScriptedEngine engine;
  engine.set_scripts({endless()});
  const auto counted = [](std::atomic<int>& n) {
    return [&n](const Event& event) { n += event.finish == FinishReason::cancelled ? 1 : 0; };
  };
  const auto host = engine.submit({.prompt = {1}, .on_event = counted(n_ended_of_host)});
  {
    GuestEngine guest(engine);
    for (int i = 0; i < 3; ++i) {
      ASSERT_TRUE(guest.submit({.prompt = {1}, .on_event = counted(n_ended)}));
    }
    EXPECT_EQ(guest.load().n_running, 4);
  }
  EXPECT_EQ(n_ended, 3);
  EXPECT_EQ(n_ended_of_host, 0);
  EXPECT_EQ(engine.load().n_running, 1);
  engine.cancel(*host);
}

TEST(GuestEngine, WhatIsRefusedOrEndedIsNotWaitedFor) {
  std::atomic<bool> ended{false};
  ScriptedEngine engine;
  engine.refuse_after(0, Status(Code::unavailable, "full"));
  {
    GuestEngine guest(engine);
    EXPECT_EQ(guest.submit({.prompt = {1}}).error().code(), Code::unavailable);
    const auto on_event = [&](const Event& event) { ended = event.finish == FinishReason::stop; };
    ASSERT_TRUE(guest.submit({.prompt = {1}, .on_event = on_event}));
    while (!ended) std::this_thread::yield();
    ASSERT_TRUE(guest.submit({.prompt = {1}}));  // nobody listens
  }
  EXPECT_EQ(engine.load().n_running, 0);
}

}  // namespace
}  // namespace ruv
