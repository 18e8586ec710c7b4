// EventLog: the events of one response as its clients get them, numbered from 0 on. Where it grows
// too large it forgets the oldest.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>

namespace ruv {

class EventLog {
 public:
  // Raising max_bytes lets clients that come back late read more of a long stream.
  explicit EventLog(uint64_t max_bytes) : max_bytes_(max_bytes) {}

  // Whole server-sent events, one after another.
  void add(std::string_view events);
  // The number of the next event.
  int64_t n_events() const { return n_forgotten_ + std::ssize(events_); }
  // Events up to this number, which does not count, are not here any more.
  int64_t n_forgotten() const { return n_forgotten_; }
  // The events from number `first` on, in one text. Requires: n_forgotten() <= first.
  std::string from(int64_t first) const;
  // Memory taken.
  uint64_t n_bytes() const { return n_bytes_; }
  void forget_all();

 private:
  void forget_first();

  uint64_t max_bytes_;
  std::deque<std::string> events_;
  int64_t n_forgotten_ = 0;
  uint64_t n_bytes_ = 0;
};

}  // namespace ruv
