#include "engine/indent_stop.h"

#include <utility>

namespace ruv {

std::string IndentStop::push(std::string_view text) {
  if (stopped_) return {};
  if (least_ == 0) return std::string(text);
  std::string certain;
  for (const char c : text) {
    const bool is_blank = c == ' ' || c == '\t';
    if (in_indent_ && is_blank && std::ssize(held_) < least_) {
      held_ += c;
      continue;
    }
    if (in_indent_ && std::ssize(held_) < least_) {
      stopped_ = true;
      held_.clear();
      return certain;
    }
    certain += std::exchange(held_, {});
    certain += c;
    in_indent_ = c == '\n';
  }
  return certain;
}

std::string IndentStop::finish() { return std::exchange(held_, {}); }

}  // namespace ruv
