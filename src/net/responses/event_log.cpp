#include "net/responses/event_log.h"

#include <algorithm>

namespace ruv {
namespace {

// With what the containers take.
uint64_t log_bytes(const std::string& event) {
  constexpr uint64_t kOverhead = 64;
  return event.size() + kOverhead;
}

}  // namespace

void EventLog::add(std::string_view events) {
  constexpr std::string_view kEnd = "\n\n";
  while (!events.empty()) {
    const size_t end = std::min(events.size(), events.find(kEnd)) + kEnd.size();
    events_.emplace_back(events.substr(0, end));
    n_bytes_ += log_bytes(events_.back());
    events.remove_prefix(std::min(end, events.size()));
    while (n_bytes_ > max_bytes_) forget_first();
  }
}

std::string EventLog::from(int64_t first) const {
  std::string text;
  for (auto i = static_cast<size_t>(first - n_forgotten_); i < events_.size(); ++i) {
    text += events_[i];
  }
  return text;
}

void EventLog::forget_all() {
  while (!events_.empty()) forget_first();
}

void EventLog::forget_first() {
  n_bytes_ -= log_bytes(events_.front());
  events_.pop_front();
  ++n_forgotten_;
}

}  // namespace ruv
