// EventInbox: events of one answer between the engine's thread and a patient reader
// (Reply::is_patient), which takes those of a while at once.
#pragma once

#include <cstdint>
#include <mutex>
#include <vector>

#include "ruv/engine.h"

namespace ruv {

class EventInbox {
 public:
  struct Entry {
    size_t choice;
    Event event;
  };
  // When the reader should call take().
  enum class Call : uint8_t { not_yet, soon, now };

  // `joins`: text of several events is as good as one. `waits_for_end`: the reader needs nothing
  // before a choice has ended.
  EventInbox(bool joins, bool waits_for_end) : joins_(joins), waits_for_end_(waits_for_end) {}

  // Any thread. `not_yet` also if an earlier event's take() is still to come.
  Call put(size_t choice, const Event& event);
  // All that came, in the order of each choice.
  std::vector<Entry> take();

 private:
  bool join(size_t choice, const Event& event);

  const bool joins_;
  const bool waits_for_end_;
  std::mutex mutex_;  // guards what follows
  std::vector<Entry> entries_;
  Call called_ = Call::not_yet;
};

}  // namespace ruv
