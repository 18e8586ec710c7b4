// TailSlots: which pages of a tiered type have a tail, the f16 form in which the newest group of a
// text is read (docs/kv-precision.md). There are far fewer tails than pages. Running sequences pin
// the tails that they read and write; the others stay for those who go on a kept text inside a
// group, until somebody needs their place.
#pragma once

#include <cstdint>
#include <vector>

#include "device/kv_pages.h"

namespace ruv {

// A page that has a tail has all its tokens in it, those that count. Nothing here allocates after
// construction. Used by one thread; not while a step reads the pages.
class TailSlots {
 public:
  // Of a tiered type; no page has a tail at first. `memory` outlives it, and nobody else calls its
  // set_tail.
  explicit TailSlots(const KvPages& memory);
  // Slots that always suffice for n_lists page lists and a step of n_rows rows
  // (PageList::pin_tails).
  static int64_t enough_for(int64_t n_lists, int64_t n_rows);

  int64_t n_slots() const { return static_cast<int64_t>(slots_.size()) - kQueues; }
  int64_t n_used() const { return n_used_; }
  // Tails that went to make room, ever: what is left of their pages is read in the store's form.
  int64_t n_demoted() const { return n_demoted_; }

  bool has(PageId page) const { return memory_->tail_of(page) >= 0; }
  // The page's tail stays until it is unpinned as often. A page that has none gets one, zeroed.
  // Requires: a slot that nobody pins.
  void pin(PageId page);
  // `passed`: the text went on beyond the group, so that tails of those that ended in theirs, or
  // began in it, are worth more.
  void unpin(PageId page, bool passed);
  // A holder of `from`, its only one, takes an equal page instead: its pins go there, and the tail
  // where the other has none.
  void move(PageId from, PageId to);
  // The page is free. Requires: nobody pins it.
  void drop(PageId page);

  // Checks table, slots and queues against each other. For tests and simulation; O(everything).
  bool consistent() const;
  int64_t n_pins() const;  // O(n slots)

 private:
  // Slots that nobody pins wait in queues, the next to be taken in front: those without a page,
  // those that were passed, the others.
  enum Queue : uint8_t { kEmpty, kPassed, kKept, kQueues };
  struct Slot {
    PageId page = -1;
    int32_t n_pins = 0;
    bool reused = false;  // somebody began in it
    int32_t next = -1;    // in its queue
    int32_t previous = -1;
  };

  // The queues' ends stand behind the slots.
  int32_t end_of(Queue queue) const { return static_cast<int32_t>(n_slots() + queue); }
  Slot& slot(int32_t at) { return slots_[static_cast<size_t>(at)]; }
  const Slot& slot(int32_t at) const { return slots_[static_cast<size_t>(at)]; }
  void enqueue(int32_t at, Queue queue);
  void leave_queue(int32_t at);
  int32_t take();
  void empty(int32_t at);

  const KvPages* memory_;
  std::vector<Slot> slots_;
  int64_t n_used_ = 0;
  int64_t n_demoted_ = 0;
};

}  // namespace ruv
