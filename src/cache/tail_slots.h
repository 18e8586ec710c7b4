// TailSlots: which pages of a tiered type have a tail, the f16 form in which the newest group of a
// text is read (docs/kv-precision.md). There are far fewer tails than pages. Running sequences pin
// the tails that they read and write. Unpinned tails stay, for requests that resume a cached text
// inside a group, until another page needs their slot.
#pragma once

#include <cstdint>
#include <vector>

#include "device/kv_pages.h"

namespace ruv {

// The tail of a page contains all of the page's valid tokens. Nothing here allocates after
// construction. Used by one thread; not while a step reads the pages.
class TailSlots {
 public:
  // No page has a tail at first. `memory` must be of a tiered type and outlive this object, and
  // only this object may call its set_tail.
  explicit TailSlots(KvPages& memory);
  // A number of slots that always suffices for n_lists page lists and a step of n_rows rows
  // (PageList::pin_tails).
  static int64_t enough_for(int64_t n_lists, int64_t n_rows);

  int64_t n_slots() const { return static_cast<int64_t>(slots_.size()) - kQueues; }
  int64_t n_used() const { return n_used_; }
  // Total number of tails evicted; their pages are read in quantised form from then on.
  int64_t n_demoted() const { return n_demoted_; }

  bool has(PageId page) const { return memory_->tail_of(page) >= 0; }
  // Keeps the page's tail until it has been unpinned as often. A page without a tail gets a zeroed
  // one. Requires: an unpinned slot.
  void pin(PageId page);
  // `passed`: the text continued beyond the group. Such tails are evicted before those of texts
  // that ended in their group or began in it.
  void unpin(PageId page, bool passed);
  // The only holder of `from` takes an equal page instead: its pins move, and the tail too if `to`
  // has none.
  void move(PageId from, PageId to);
  // The page has become free. Requires: it is not pinned.
  void drop(PageId page);

  // Checks table, slots and queues against each other. For tests and simulation; O(everything).
  bool consistent() const;
  int64_t n_pins() const;  // O(n slots)

 private:
  // Unpinned slots wait in queues, the next to be taken at the front: those without a page, those
  // that were passed, the others. take() empties the queues in this order.
  enum Queue : uint8_t { kEmpty, kPassed, kKept, kQueues };
  struct Slot {
    PageId page = -1;
    int32_t n_pins = 0;
    bool reused = false;  // a sequence began in it
    int32_t next = -1;    // in its queue
    int32_t previous = -1;
  };

  // The queues' end markers come after the slots.
  int32_t end_of(Queue queue) const { return static_cast<int32_t>(n_slots() + queue); }
  Slot& slot(int32_t at) { return slots_[static_cast<size_t>(at)]; }
  const Slot& slot(int32_t at) const { return slots_[static_cast<size_t>(at)]; }
  void enqueue(int32_t at, Queue queue);
  void leave_queue(int32_t at);
  int32_t take();
  void empty(int32_t at);

  KvPages* memory_;
  std::vector<Slot> slots_;
  int64_t n_used_ = 0;
  int64_t n_demoted_ = 0;
};

}  // namespace ruv
