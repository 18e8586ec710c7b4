// PageFrames: which pages have a frame in a group that does not keep every page: a window's, or the
// tails of tiered types (device/kv_pages.h). Running sequences pin the frames that they read and
// write. Unpinned frames stay, for requests that resume a cached text there, until another page
// needs them.
#pragma once

#include <cstdint>
#include <vector>

#include "device/kv_pages.h"

namespace ruv {

// The frame of a page contains all of the page's valid tokens. Nothing here allocates after
// construction. Used by one thread; not while a step reads the pages.
class PageFrames {
 public:
  // No page has a frame at first. `memory` must outlive this object, and only this object may call
  // its set().
  explicit PageFrames(KvFrames& memory);

  const KvReach& reach() const { return memory_->reach(); }
  int64_t n_frames() const { return static_cast<int64_t>(frames_.size()) - kQueues; }
  int64_t n_used() const { return n_used_; }
  // Total number of frames evicted: no text can be resumed after their pages any more.
  int64_t n_evicted() const { return n_evicted_; }

  bool has(PageId page) const { return memory_->has(page); }
  FrameId frame_of(PageId page) const { return memory_->of(page); }  // -1: has none
  // Keeps the page's frame until it has been unpinned as often. A page without a frame gets a
  // zeroed one. Requires: an unpinned frame.
  void pin(PageId page);
  // `passed`: the text continued beyond the reach of its last row. Such frames are evicted before
  // those of texts that ended within reach of them or began in them.
  void unpin(PageId page, bool passed);
  // Pins a frame for the disk. False, with nothing changed, when as many are held as there are for
  // cached prefixes: running sequences never wait for the disk.
  bool hold(PageId page);
  void let_go(PageId page);
  // Frames of running states belong to no page at first. That of take_loose() holds the bytes of
  // its last use: a step writes all of a state, which may be megabytes. Requires: an unpinned
  // frame.
  FrameId take_loose();
  FrameId take_zeroed();
  void give_back(FrameId loose);
  // A loose frame becomes the page's. False if the page has one already: the loose one is given
  // back. Not pinned.
  bool attach(FrameId loose, PageId page);
  // Gives up the page's frame, unless it is pinned or was used again. For the caller that attached
  // it, pinned it once and has unpinned it.
  void discard(PageId page);
  // The only holder of `from` takes an equal page instead: its pins move, and the frame too if `to`
  // has none.
  void move(PageId from, PageId to);
  // The page has become free. Requires: it is not pinned.
  void drop(PageId page);

  // Checks table, frames and queues against each other. For tests and simulation; O(everything).
  bool consistent() const;
  int64_t n_held() const { return n_held_; }
  int64_t n_pins() const;  // O(n frames); holds included

 private:
  // Unpinned frames wait in queues, the next to be taken at the front: those without a page, those
  // that were passed, the others. take() empties the queues in this order.
  enum Queue : uint8_t { kEmpty, kPassed, kKept, kQueues };
  struct Frame {
    PageId page = -1;
    int32_t n_pins = 0;
    int32_t n_uses = 0;  // how often it was pinned while it was not
    bool loose = false;  // taken, and of no page
    FrameId next = -1;   // in its queue
    FrameId previous = -1;
  };

  // The queues' end markers come after the frames.
  FrameId end_of(Queue queue) const { return static_cast<FrameId>(n_frames() + queue); }
  Frame& frame(FrameId at) { return frames_[static_cast<size_t>(at)]; }
  const Frame& frame(FrameId at) const { return frames_[static_cast<size_t>(at)]; }
  void enqueue(FrameId at, Queue queue);
  void leave_queue(FrameId at);
  FrameId take();
  void empty(FrameId at);

  KvFrames* memory_;
  std::vector<Frame> frames_;
  int64_t n_used_ = 0;
  int64_t n_held_ = 0;
  int64_t n_evicted_ = 0;
};

// One for each group of `memory` whose frames must be assigned, in its order.
std::vector<PageFrames> frames_of(const KvPages& memory);

}  // namespace ruv
