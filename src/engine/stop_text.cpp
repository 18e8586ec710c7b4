#include "engine/stop_text.h"

#include <algorithm>
#include <utility>

namespace ruv {
namespace {

// Longest end of `text` that is a proper start of `stop`.
size_t overlap(std::string_view text, std::string_view stop) {
  for (size_t n = std::min(text.size(), stop.size() - 1); n > 0; --n) {
    if (text.substr(text.size() - n) == stop.substr(0, n)) return n;
  }
  return 0;
}

}  // namespace

std::string StopText::push(std::string_view text) {
  if (stopped_) return {};
  held_ += text;
  if (!is_watching_) n_passed_ = held_.size();
  // The stop that is complete first wins, as if the text came letter by letter; of two that end
  // together, the longer.
  size_t begin = std::string::npos;
  size_t end = std::string::npos;
  size_t keep = 0;
  for (const std::string& stop : stops_) {
    keep = std::max(keep, overlap(held_, stop));
    const size_t first = n_passed_ < stop.size() ? 0 : n_passed_ - stop.size() + 1;
    const size_t at = held_.find(stop, first);
    if (at == std::string::npos) continue;
    if (at + stop.size() < end || (at + stop.size() == end && at < begin)) {
      begin = at;
      end = at + stop.size();
    }
  }
  if (end != std::string::npos) {
    stopped_ = true;
    found_ = held_.substr(begin, end - begin);
    std::string certain = held_.substr(0, include_ ? end : begin);
    held_.clear();
    return certain;
  }
  std::string certain = held_.substr(0, held_.size() - keep);
  held_.erase(0, certain.size());
  n_passed_ -= std::min(n_passed_, certain.size());
  return certain;
}

std::string StopText::finish() {
  if (stopped_) return {};
  return std::exchange(held_, {});
}

}  // namespace ruv
