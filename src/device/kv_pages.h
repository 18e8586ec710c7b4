// KvPages: the memory of all key/value pages. A page is the tokens of kPageTokens positions in all
// layers. It has a frame of memory in each group of layers (device/cache_layout.h):
//
//   main     layers that keep all tokens: frame n belongs to page n
//   windows  layers that see a window of tokens: frames are given to the pages within one
//   states   layers that keep a running state: a frame is the state at the end of a page, or that
//            of a running sequence, which belongs to no page
//   tails    the newest tokens of tiered types in f16, all layers: frames as those of windows
//
// Which pages have frames in windows, states and tails is decided by the cache
// (cache/page_frames.h).
#pragma once

#include <memory>
#include <optional>
#include <span>

#include "device/batch.h"
#include "device/kv_frames.h"
#include "device/kv_region.h"

namespace ruv {

// Where one layer's keys and values are.
struct KvView {
  const KvRegion* region = nullptr;  // null: the layer keeps no tokens
  int64_t layer = 0;                 // of the region
  const FrameId* frames = nullptr;   // by page; null: frame n belongs to page n

  const KvShape& shape() const { return region->shape(layer); }
  KvType type() const { return shape().type; }
  FrameId frame(PageId page) const { return frames != nullptr ? frames[page] : page; }
};

class KvPages {
 public:
  // Groups of a saved page: bit 0 is main, bit i + 1 is saved()[i].
  using Groups = uint32_t;

  // Memory of `device` for n_pages pages. A window that would need as many frames as there are
  // pages keeps every page instead. Without limits every page has a frame of its own in every
  // group, and nothing has to be assigned. Fails: out_of_memory; unsupported (running states
  // without limits).
  static Result<KvPages> create(const CacheLayout& layout, int64_t n_pages,
                                const std::optional<FrameLimits>& limits = {},
                                std::shared_ptr<Device> device = default_device());

  // Memory of all frames of pages that are created so.
  static int64_t bytes_for(const CacheLayout& layout, int64_t n_pages,
                           const std::optional<FrameLimits>& limits);

  Device& device() const { return *device_; }
  const CacheLayout& layout() const { return layout_; }
  int64_t n_layers() const { return static_cast<int64_t>(layout_.layers.size()); }
  int64_t n_pages() const { return n_pages_; }
  int64_t n_bytes() const;  // of all frames
  // Memory that a running sequence of n_tokens tokens occupies, once its last step is over.
  int64_t held_bytes(int64_t n_tokens) const;

  // What rows read of pages before their own group of kGroupTokens, and of that group.
  const KvView& settled(int64_t layer) const { return settled_[static_cast<size_t>(layer)]; }
  const KvView& newest(int64_t layer) const { return newest_[static_cast<size_t>(layer)]; }
  // A layer's running state in a frame of the states' group. Requires: the layer keeps one.
  Address state(FrameId frame, int64_t layer) const {
    return states_->region().state(frame, state_index_[static_cast<size_t>(layer)]);
  }

  // Groups whose frames must be assigned to pages. Windows come first, then states and tails if
  // there are.
  std::span<const std::unique_ptr<KvFrames>> assigned() const { return assigned_; }
  // The ones among them that are saved with a page: all but tails; states are the last.
  std::span<const std::unique_ptr<KvFrames>> saved() const {
    return std::span(assigned_).first(n_saved_);
  }
  // Null: no layer has a tiered type, or every page has its own tail.
  const KvFrames* tails() const {
    return assigned_.size() > n_saved_ ? assigned_.back().get() : nullptr;
  }

  // Zeroes a page, in the groups where it has a frame, before a new owner writes it: attention
  // multiplies unwritten slots by zero, and zero times a stale infinity would be NaN.
  void clear(PageId page) const;
  // Copies what both pages have frames for.
  void copy(PageId from, PageId to) const;

  // A page as one run of saved_bytes() bytes, and back; without its tail and its running states.
  // The bytes of groups that are not in `groups` are zero and not read. Pages of equal tokens of
  // one model give equal bytes. load() fails, with nothing changed, where the bytes lack one of
  // `groups`. Requires: the page has frames in `groups`.
  int64_t saved_bytes() const;
  Groups all_groups() const { return (Groups{2} << n_saved_) - 1; }
  void save(PageId page, Groups groups, std::span<std::byte> bytes) const;
  bool load(PageId page, Groups groups, std::span<const std::byte> bytes) const;
  // The running states at the end of a page: saved_state_bytes() bytes, which few pages have.
  // Requires: the page has a frame in states_group(), which is 0 where no layer keeps a state.
  int64_t saved_state_bytes() const {
    return states_ != nullptr ? states_->region().frame_bytes() : 0;
  }
  Groups states_group() const { return states_ != nullptr ? Groups{1} << n_saved_ : 0; }
  void save_state(PageId page, std::span<std::byte> bytes) const;
  void load_state(PageId page, std::span<const std::byte> bytes) const;

 private:
  KvPages(CacheLayout layout, int64_t n_pages, std::shared_ptr<Device> device)
      : device_(std::move(device)), layout_(std::move(layout)), n_pages_(n_pages) {}

  std::span<const std::unique_ptr<KvFrames>> windows() const {
    return saved().first(n_saved_ - (states_ != nullptr));
  }
  Status add_states(const std::optional<FrameLimits>& limits);
  Status add_main();
  Status add_windows(const std::optional<FrameLimits>& limits);
  Status add_tails(const std::optional<FrameLimits>& limits);
  std::shared_ptr<Device> device_;
  CacheLayout layout_;
  int64_t n_pages_;
  std::unique_ptr<KvRegion> main_;
  std::unique_ptr<KvRegion> every_tail_;  // where each page has its own; else null
  std::vector<std::unique_ptr<KvFrames>> assigned_;
  size_t n_saved_ = 0;
  std::vector<KvView> settled_, newest_;  // by layer
  const KvFrames* states_ = nullptr;      // one of assigned_; null: no layer keeps a state
  std::vector<int64_t> state_index_;      // by layer: which of the states' region; -1: has none
};

}  // namespace ruv
