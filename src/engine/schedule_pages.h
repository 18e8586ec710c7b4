// PageAccount: the pages that a plan may still use. Free and evictable pages count alike, since the
// engine evicts what it needs. Pages that running prompts will need are promised to them.
#pragma once

#include "engine/schedule.h"

namespace ruv {

class PageAccount {
 public:
  explicit PageAccount(const ScheduleSnapshot& snapshot);

  int64_t pages_for(int64_t n_tokens) const {
    return (n_tokens + limits_.page_tokens - 1) / limits_.page_tokens;
  }
  // Pages to take until n_tokens have a place.
  int64_t missing(int64_t n_held, int64_t n_tokens) const {
    const int64_t n = pages_for(n_tokens) - n_held;
    return n > 0 ? n : 0;
  }
  // The pages that become unavailable when a waiting sequence starts and has computed its whole
  // prompt and one token.
  int64_t whole(const SequenceView& v) const {
    return missing(v.n_pages, v.n_tokens + 1) + v.n_pinned;
  }

  int64_t available() const { return available_; }
  int64_t promised() const { return promised_; }
  void take(int64_t n) { available_ -= n; }
  void give_back(const SequenceView& v) { available_ += v.n_own; }
  void promise(int64_t n) { promised_ += n; }

  // Whether a waiting sequence may start: its pages are available, promises are kept, and running
  // sequences then hold at most the high watermark.
  bool has_room_for(const SequenceView& v) const;
  // The watermarks with their hysteresis.
  bool admits(bool admitted_before) const;

 private:
  SchedulerLimits limits_;
  int64_t n_pages_;
  int64_t available_;
  int64_t promised_ = 0;
};

}  // namespace ruv
