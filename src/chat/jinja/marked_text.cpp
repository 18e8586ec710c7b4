// MarkedText. Runs are kept sorted by their ends, so a slice finds its first run by bisection.
#include "chat/jinja/marked_text.h"

#include <algorithm>

namespace ruv::jinja {

MarkedText::MarkedText(std::string bytes, bool from_user)
    : bytes_(std::move(bytes)), from_user_(from_user) {}

// Extends the last run if the mark is the same.
void MarkedText::append(std::string_view bytes, bool from_user) {
  if (bytes.empty()) return;
  if (bytes_.empty()) {
    from_user_ = from_user;
  } else if (runs_.empty() && from_user != from_user_) {
    runs_.push_back({bytes_.size(), from_user_});
  }
  bytes_.append(bytes);
  if (runs_.empty()) return;
  if (runs_.back().from_user == from_user) {
    runs_.back().end = bytes_.size();
  } else {
    runs_.push_back({bytes_.size(), from_user});
  }
}

void MarkedText::append(const MarkedText& other) { append_slice(other, 0, other.size()); }

// Copies the runs that overlap the slice.
void MarkedText::append_slice(const MarkedText& other, size_t begin, size_t end) {
  if (begin >= end) return;
  if (other.runs_.empty())
    return append(std::string_view(other.bytes_).substr(begin, end - begin), other.from_user_);
  for (size_t run = other.run_of(begin); begin < end; ++run) {
    const size_t stop = std::min(end, other.runs_[run].end);
    append(std::string_view(other.bytes_).substr(begin, stop - begin), other.runs_[run].from_user);
    begin = stop;
  }
}

MarkedText MarkedText::slice(size_t begin, size_t end) const {
  MarkedText out;
  out.append_slice(*this, begin, end);
  return out;
}

size_t MarkedText::run_of(size_t byte) const {
  const auto run = std::upper_bound(runs_.begin(), runs_.end(), byte,
                                    [](size_t at, const Run& r) { return at < r.end; });
  return static_cast<size_t>(run - runs_.begin());
}

bool MarkedText::any_from_user() const {
  if (runs_.empty()) return from_user_ && !bytes_.empty();
  return std::any_of(runs_.begin(), runs_.end(), [](const Run& run) { return run.from_user; });
}

}  // namespace ruv::jinja
