// KvFrames: the frames of a group that does not keep every page, and which page each of them
// belongs to: tails, which are the newest tokens of tiered types in f16, layers with a window, and
// running states.
#pragma once

#include <memory>

#include "device/batch.h"
#include "device/kv_region.h"

namespace ruv {

// The frames of a group: what steps need, and what is kept for cached prefixes. No group of pages
// has more frames than there are pages.
int64_t frames_for(const KvReach& reach, const FrameLimits& limits, int64_t n_pages);

class KvFrames {
 public:
  // Fails: out_of_memory.
  static Result<KvFrames> create(Device& device, KvReach reach, std::vector<KvShape> layers,
                                 int64_t n_pages, const FrameLimits& limits);

  const KvReach& reach() const { return reach_; }
  const KvRegion& region() const { return region_; }
  int64_t n_frames() const { return region_.n_frames(); }
  int64_t n_pages() const { return n_pages_; }
  // Frames that are there for cached prefixes.
  int64_t n_kept() const { return n_kept_; }
  // The frame that has a page's tokens; -1: none has. Constant during a step for the pages that it
  // reads and writes.
  FrameId of(PageId page) const { return frame_of_[page]; }
  bool has(PageId page) const { return of(page) >= 0; }
  void set(PageId page, FrameId frame) { frame_of_[page] = frame; }
  const FrameId* table() const { return frame_of_.get(); }

 private:
  KvFrames(KvReach reach, KvRegion region, int64_t n_pages, int64_t n_kept);

  KvReach reach_;
  KvRegion region_;
  int64_t n_pages_;
  int64_t n_kept_;
  std::unique_ptr<FrameId[]> frame_of_;  // by page
};

}  // namespace ruv
