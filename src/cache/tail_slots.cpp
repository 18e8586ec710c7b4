#include "cache/tail_slots.h"

#include <utility>

#include "base/check.h"

namespace ruv {

TailSlots::TailSlots(KvPages& memory) : memory_(&memory) {
  CHECK(is_tiered(memory.shape().type));
  for (PageId page = 0; page < memory.n_pages(); ++page) memory.set_tail(page, -1);
  slots_.resize(static_cast<size_t>(memory.tail().n_pages()) + kQueues);
  for (const Queue queue : {kEmpty, kPassed, kKept}) {
    slot(end_of(queue)).next = slot(end_of(queue)).previous = end_of(queue);
  }
  for (int32_t at = 0; at < n_slots(); ++at) enqueue(at, kEmpty);
}

// A list pins its group's pages up to its first row, at most 16, and those that its n rows begin:
// ceil(n / 16) <= (n + 15) / 16. Between steps it pins one that drafts began instead (PageList::
// trim_tails). So m lists pin 16 m + (n + 15 m) / 16 < 17 m + n / 16 in a step of n rows, and 17 m
// before it, when a started one may pin one more for a moment: the page that it copies.
int64_t TailSlots::enough_for(int64_t n_lists, int64_t n_rows) {
  return (kGroupPages + 1) * n_lists + n_rows / kPageTokens + 1;
}

void TailSlots::enqueue(int32_t at, Queue queue) {
  Slot& queued = slot(at);
  queued.next = end_of(queue);
  queued.previous = slot(queued.next).previous;
  slot(queued.previous).next = at;
  slot(queued.next).previous = at;
}

void TailSlots::leave_queue(int32_t at) {
  const Slot& queued = slot(at);
  slot(queued.previous).next = queued.next;
  slot(queued.next).previous = queued.previous;
}

// Takes a slot out of the first queue that has one; the page that had it loses its tail.
int32_t TailSlots::take() {
  for (const Queue queue : {kEmpty, kPassed, kKept}) {
    const int32_t at = slot(end_of(queue)).next;
    if (at == end_of(queue)) continue;
    leave_queue(at);
    if (slot(at).page >= 0) {
      empty(at);
      ++n_demoted_;
    }
    return at;
  }
  CHECK(false);  // more is pinned than enough_for says
  return -1;
}

// Takes the tail from the slot's page. The slot is in no queue afterwards.
void TailSlots::empty(int32_t at) {
  memory_->set_tail(slot(at).page, -1);
  slot(at) = {};
  --n_used_;
}

void TailSlots::pin(PageId page) {
  int32_t at = memory_->tail_of(page);
  if (at < 0) {
    at = take();
    slot(at).page = page;
    ++n_used_;
    memory_->tail().clear(at);
    memory_->set_tail(page, at);
  } else if (slot(at).n_pins == 0) {
    leave_queue(at);
    slot(at).reused = true;
  }
  ++slot(at).n_pins;
}

// The last unpin puts the slot at the end of a queue.
void TailSlots::unpin(PageId page, bool passed) {
  CHECK(has(page));
  const int32_t at = memory_->tail_of(page);
  CHECK(slot(at).n_pins > 0);
  if (--slot(at).n_pins == 0) enqueue(at, passed && !slot(at).reused ? kPassed : kKept);
}

// If both pages have a tail, the one of `from` is given up: they are equal.
void TailSlots::move(PageId from, PageId to) {
  if (!has(from)) return;
  const int32_t at = memory_->tail_of(from);
  if (!has(to)) {
    slot(at).page = to;
    memory_->set_tail(from, -1);
    memory_->set_tail(to, at);
    return;
  }
  const int32_t other = memory_->tail_of(to);
  if (slot(at).n_pins > 0) {
    if (slot(other).n_pins == 0) leave_queue(other);
    slot(other).n_pins += std::exchange(slot(at).n_pins, 0);
    enqueue(at, kKept);
  }
  drop(from);
}

void TailSlots::drop(PageId page) {
  if (!has(page)) return;
  const int32_t at = memory_->tail_of(page);
  CHECK(slot(at).n_pins == 0);
  leave_queue(at);
  empty(at);
  enqueue(at, kEmpty);
}

int64_t TailSlots::n_pins() const {
  int64_t n = 0;
  for (const Slot& slot : slots_) n += slot.n_pins;
  return n;
}

bool TailSlots::consistent() const {
  int64_t n_with_tail = 0;
  for (PageId page = 0; page < memory_->n_pages(); ++page) {
    const PageId at = memory_->tail_of(page);
    if (at >= n_slots() || (at >= 0 && slot(at).page != page)) return false;
    n_with_tail += at >= 0;
  }
  int64_t n_with_page = 0, n_unpinned = 0, n_queued = 0;
  for (int32_t at = 0; at < n_slots(); ++at) {
    n_with_page += slot(at).page >= 0;
    n_unpinned += slot(at).n_pins == 0;
    if (slot(at).n_pins < 0 || (slot(at).page < 0 && slot(at).n_pins != 0)) return false;
  }
  for (const Queue queue : {kEmpty, kPassed, kKept}) {
    for (int32_t at = slot(end_of(queue)).next; at != end_of(queue); at = slot(at).next) {
      if (slot(at).n_pins != 0 || (slot(at).page < 0) != (queue == kEmpty)) return false;
      if (slot(slot(at).next).previous != at || ++n_queued > n_slots()) return false;
    }
  }
  return n_with_tail == n_used_ && n_with_page == n_used_ && n_queued == n_unpinned;
}

}  // namespace ruv
