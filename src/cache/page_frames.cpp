#include "cache/page_frames.h"

#include <utility>

#include "base/check.h"

namespace ruv {

PageFrames::PageFrames(KvFrames& memory) : memory_(&memory) {
  for (PageId page = 0; page < memory.n_pages(); ++page) memory.set(page, -1);
  frames_.resize(static_cast<size_t>(memory.n_frames()) + kQueues);
  for (const Queue queue : {kEmpty, kPassed, kKept}) {
    frame(end_of(queue)).next = frame(end_of(queue)).previous = end_of(queue);
  }
  for (FrameId at = 0; at < n_frames(); ++at) enqueue(at, kEmpty);
}

void PageFrames::enqueue(FrameId at, Queue queue) {
  Frame& queued = frame(at);
  queued.next = end_of(queue);
  queued.previous = frame(queued.next).previous;
  frame(queued.previous).next = at;
  frame(queued.next).previous = at;
}

void PageFrames::leave_queue(FrameId at) {
  const Frame& queued = frame(at);
  frame(queued.previous).next = queued.next;
  frame(queued.next).previous = queued.previous;
}

// Takes a frame out of the first queue that has one; the page that had it loses it.
FrameId PageFrames::take() {
  for (const Queue queue : {kEmpty, kPassed, kKept}) {
    const FrameId at = frame(end_of(queue)).next;
    if (at == end_of(queue)) continue;
    leave_queue(at);
    if (frame(at).page >= 0) {
      empty(at);
      ++n_evicted_;
    }
    return at;
  }
  CHECK(false);  // more is pinned than KvReach::enough_for says
  return -1;
}

// Takes the frame from its page. It is in no queue afterwards.
void PageFrames::empty(FrameId at) {
  memory_->set(frame(at).page, -1);
  frame(at) = {};
  --n_used_;
}

void PageFrames::pin(PageId page) {
  FrameId at = memory_->of(page);
  if (at < 0) {
    at = take();
    frame(at).page = page;
    ++n_used_;
    memory_->region().clear(at);
    memory_->set(page, at);
  } else if (frame(at).n_pins == 0) {
    leave_queue(at);
  }
  if (frame(at).n_pins++ == 0) ++frame(at).n_uses;
}

// The last unpin puts the frame at the end of a queue.
void PageFrames::unpin(PageId page, bool passed) {
  CHECK(has(page));
  const FrameId at = memory_->of(page);
  CHECK(frame(at).n_pins > 0);
  if (--frame(at).n_pins == 0) enqueue(at, passed && frame(at).n_uses == 1 ? kPassed : kKept);
}

// If both pages have a frame, the one of `from` is given up: they are equal.
void PageFrames::move(PageId from, PageId to) {
  if (!has(from)) return;
  const FrameId at = memory_->of(from);
  if (!has(to)) {
    frame(at).page = to;
    memory_->set(from, -1);
    memory_->set(to, at);
    return;
  }
  const FrameId other = memory_->of(to);
  if (frame(at).n_pins > 0) {
    if (frame(other).n_pins == 0) leave_queue(other);
    frame(other).n_uses += frame(at).n_uses;
    frame(other).n_pins += std::exchange(frame(at).n_pins, 0);
    enqueue(at, kKept);
  }
  drop(from);
}

void PageFrames::drop(PageId page) {
  if (!has(page)) return;
  const FrameId at = memory_->of(page);
  CHECK(frame(at).n_pins == 0);
  leave_queue(at);
  empty(at);
  enqueue(at, kEmpty);
}

FrameId PageFrames::take_loose() {
  const FrameId at = take();
  frame(at).loose = true;
  return at;
}

FrameId PageFrames::take_zeroed() {
  const FrameId at = take_loose();
  memory_->region().clear(at);
  return at;
}

void PageFrames::give_back(FrameId loose) {
  CHECK(frame(loose).loose);
  frame(loose).loose = false;
  enqueue(loose, kEmpty);
}

bool PageFrames::attach(FrameId loose, PageId page) {
  CHECK(frame(loose).loose);
  if (has(page)) {
    give_back(loose);
    return false;
  }
  frame(loose).loose = false;
  frame(loose).page = page;
  ++n_used_;
  memory_->set(page, loose);
  enqueue(loose, kKept);
  return true;
}

void PageFrames::discard(PageId page) {
  if (!has(page)) return;
  const Frame& discarded = frame(memory_->of(page));
  if (discarded.n_pins > 0 || discarded.n_uses > 1) return;
  drop(page);
  ++n_evicted_;
}

bool PageFrames::hold(PageId page) {
  if (n_held_ == memory_->n_kept()) return false;
  ++n_held_;
  pin(page);
  return true;
}

void PageFrames::let_go(PageId page) {
  --n_held_;
  unpin(page, false);
}

int64_t PageFrames::n_pins() const {
  int64_t n = 0;
  for (const Frame& each : frames_) n += each.n_pins;
  return n;
}

std::vector<PageFrames> frames_of(const KvPages& memory) {
  std::vector<PageFrames> frames;
  for (const auto& group : memory.assigned()) frames.emplace_back(*group);
  return frames;
}

bool PageFrames::consistent() const {
  int64_t n_with_frame = 0;
  for (PageId page = 0; page < memory_->n_pages(); ++page) {
    const PageId at = memory_->of(page);
    if (at >= n_frames() || (at >= 0 && frame(at).page != page)) return false;
    n_with_frame += at >= 0;
  }
  int64_t n_with_page = 0, n_unpinned = 0, n_queued = 0;
  for (FrameId at = 0; at < n_frames(); ++at) {
    n_with_page += frame(at).page >= 0;
    n_unpinned += frame(at).n_pins == 0 && !frame(at).loose;
    if (frame(at).loose && frame(at).page >= 0) return false;
    if (frame(at).n_pins < 0 || (frame(at).page < 0 && frame(at).n_pins != 0)) return false;
  }
  for (const Queue queue : {kEmpty, kPassed, kKept}) {
    for (FrameId at = frame(end_of(queue)).next; at != end_of(queue); at = frame(at).next) {
      if (frame(at).n_pins != 0 || (frame(at).page < 0) != (queue == kEmpty)) return false;
      if (frame(frame(at).next).previous != at || ++n_queued > n_frames()) return false;
    }
  }
  return n_with_frame == n_used_ && n_with_page == n_used_ && n_queued == n_unpinned;
}

}  // namespace ruv
