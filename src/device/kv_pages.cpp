// Each layer's settled_ view says in which region it is and what maps its pages to frames there.
// Layers leave the main region one kind after the other: windows, then running states; what is left
// has a frame for every page. Tails of tiered types are second copies, seen through newest_.
#include "device/kv_pages.h"

#include <algorithm>
#include <cstring>
#include <set>

namespace ruv {
namespace {

// A view of layer `layer` and the shape for it, appended to a region's.
KvView append(std::vector<KvShape>& shapes, const KvShape& shape) {
  shapes.push_back(shape);
  return {nullptr, std::ssize(shapes) - 1, nullptr};
}

}  // namespace

Result<KvPages> KvPages::create(const CacheLayout& layout, int64_t n_pages,
                                const std::optional<FrameLimits>& limits,
                                std::shared_ptr<Device> device) {
  KvPages pages(layout, n_pages, std::move(device));
  pages.settled_.resize(layout.layers.size());
  TRY(pages.add_windows(limits));
  TRY(pages.add_states(limits));
  TRY(pages.add_main());
  pages.newest_ = pages.settled_;
  TRY(pages.add_tails(limits));
  return pages;
}

// Layers whose window is worth it leave main; the others lose theirs, as far as memory goes.
Status KvPages::add_windows(const std::optional<FrameLimits>& limits) {
  if (!limits) return {};
  std::set<int64_t> windows;
  for (const KvLayer& layer : layout_.layers) {
    if (layer.shape.has_tokens()) windows.insert(layer.window);
  }
  windows.erase(0);
  for (const int64_t window : windows) {
    const KvReach reach = KvReach::of_window(window);
    if (frames_for(reach, *limits, n_pages_) == n_pages_) continue;
    const auto is_inside = [&](const KvLayer& layer) {
      return layer.window == window && layer.shape.has_tokens();
    };
    std::vector<KvShape> shapes;
    for (size_t i = 0; i < layout_.layers.size(); ++i) {
      const KvLayer& layer = layout_.layers[i];
      if (is_inside(layer)) settled_[i] = append(shapes, layer.shape.tokens());
    }
    assigned_.push_back(std::make_unique<KvFrames>(
        TRY(KvFrames::create(*device_, reach, std::move(shapes), n_pages_, *limits))));
    for (size_t i = 0; i < layout_.layers.size(); ++i) {
      if (!is_inside(layout_.layers[i])) continue;
      settled_[i].region = &assigned_.back()->region();
      settled_[i].frames = assigned_.back()->table();
    }
  }
  n_saved_ = assigned_.size();
  return {};
}

// All layers that keep a running state share one group: a checkpoint is of all of them.
Status KvPages::add_states(const std::optional<FrameLimits>& limits) {
  std::vector<KvShape> shapes;
  for (const KvLayer& layer : layout_.layers) {
    state_index_.push_back(layer.shape.has_state() ? std::ssize(shapes) : -1);
    if (layer.shape.has_state()) shapes.push_back(layer.shape.state());
  }
  if (shapes.empty()) return {};
  if (!limits) return fail(Code::unsupported, "KV pages: running states belong to sequences");
  const KvReach reach = KvReach::of_state(layout_.checkpoint_pages());
  assigned_.push_back(std::make_unique<KvFrames>(
      TRY(KvFrames::create(*device_, reach, std::move(shapes), n_pages_, *limits))));
  states_ = assigned_.back().get();
  n_saved_ = assigned_.size();
  return {};
}

Status KvPages::add_main() {
  std::vector<KvShape> shapes;
  std::vector<size_t> layers;
  for (size_t i = 0; i < layout_.layers.size(); ++i) {
    const KvShape& shape = layout_.layers[i].shape;
    if (settled_[i].region != nullptr || !shape.has_tokens()) continue;
    settled_[i] = append(shapes, shape.tokens());
    layers.push_back(i);
  }
  main_ = std::make_unique<KvRegion>(TRY(KvRegion::create(*device_, std::move(shapes), n_pages_)));
  for (const size_t i : layers) settled_[i].region = main_.get();
  return {};
}

// All layers of tiered types, in f16.
Status KvPages::add_tails(const std::optional<FrameLimits>& limits) {
  if (!layout_.has_tiers()) return {};
  std::vector<KvShape> shapes;
  for (size_t i = 0; i < layout_.layers.size(); ++i) {
    KvShape shape = layout_.layers[i].shape.tokens();
    if (!is_tiered(shape.type)) continue;
    shape.type = KvType::f16;
    newest_[i] = append(shapes, shape);
  }
  const KvRegion* region = nullptr;
  const FrameId* table = nullptr;
  if (!limits) {
    every_tail_ =
        std::make_unique<KvRegion>(TRY(KvRegion::create(*device_, std::move(shapes), n_pages_)));
    region = every_tail_.get();
  } else {
    assigned_.push_back(std::make_unique<KvFrames>(
        TRY(KvFrames::create(*device_, KvReach(), std::move(shapes), n_pages_, *limits))));
    region = &assigned_.back()->region();
    table = assigned_.back()->table();
  }
  for (size_t i = 0; i < layout_.layers.size(); ++i) {
    if (!is_tiered(layout_.layers[i].shape.type)) continue;
    newest_[i].region = region;
    newest_[i].frames = table;
  }
  return {};
}

// Counts what create() would allocate, before there is a device.
int64_t KvPages::bytes_for(const CacheLayout& layout, int64_t n_pages,
                           const std::optional<FrameLimits>& limits) {
  const auto n_frames = [&](const KvReach& reach) {
    return limits ? frames_for(reach, *limits, n_pages) : n_pages;
  };
  int64_t bytes = layout.state_bytes() * n_frames(KvReach::of_state(1));
  for (const KvLayer& layer : layout.layers) {
    const KvReach window = KvReach::of_window(layer.window);
    bytes += layer.shape.page_bytes() * (layer.window > 0 ? n_frames(window) : n_pages);
    if (!is_tiered(layer.shape.type)) continue;
    KvShape tail = layer.shape;
    tail.type = KvType::f16;
    bytes += tail.page_bytes() * n_frames(KvReach());
  }
  return bytes;
}

int64_t KvPages::n_bytes() const {
  int64_t n = main_->n_bytes() + (every_tail_ != nullptr ? every_tail_->n_bytes() : 0);
  for (const auto& group : assigned_) n += group->region().n_bytes();
  return n;
}

int64_t KvPages::held_bytes(int64_t n_tokens) const {
  const int64_t n = pages_for(n_tokens);
  int64_t bytes = n * main_->frame_bytes();
  if (every_tail_ != nullptr) bytes += n * every_tail_->frame_bytes();
  for (const auto& group : assigned_) {
    const bool is_state = group->reach().is_state();
    const int64_t n_frames = is_state ? 1 : n - group->reach().first_page(n_tokens);
    bytes += n_frames * group->region().frame_bytes();
  }
  return bytes;
}

void KvPages::clear(PageId page) const {
  main_->clear(page);
  if (every_tail_ != nullptr) every_tail_->clear(page);
  for (const auto& group : assigned_) {
    if (group->has(page)) group->region().clear(group->of(page));
  }
}

void KvPages::copy(PageId from, PageId to) const {
  main_->copy(from, to);
  if (every_tail_ != nullptr) every_tail_->copy(from, to);
  for (const auto& group : assigned_) {
    if (group->has(from) && group->has(to)) group->region().copy(group->of(from), group->of(to));
  }
}

// The page begins with one byte per window: whether it follows, or zeros do. Where no layer keeps
// tokens a page is a zero, so that it has bytes that can be checked.
int64_t KvPages::saved_bytes() const {
  int64_t n = main_->frame_bytes();
  for (const auto& group : windows()) n += 1 + group->region().frame_bytes();
  return std::max<int64_t>(n, 1);
}

// Windows that are not saved leave zeros, so that all pages have one size.
void KvPages::save(PageId page, Groups groups, std::span<std::byte> bytes) const {
  size_t at = windows().size();
  const auto save_group = [&](bool wanted, const KvRegion& region, FrameId frame) {
    const auto to = bytes.subspan(at, static_cast<size_t>(region.frame_bytes()));
    at += to.size();
    if (wanted) {
      region.save(frame, to);
    } else {
      std::ranges::fill(to, std::byte{0});
    }
  };
  save_group((groups & 1) != 0, *main_, page);
  for (size_t i = 0; i < windows().size(); ++i) {
    const bool wanted = (groups >> (i + 1) & 1) != 0;
    bytes[i] = std::byte{wanted};
    // The table of a page that is not wanted may be changing on another thread.
    save_group(wanted, windows()[i]->region(), wanted ? windows()[i]->of(page) : -1);
  }
}

bool KvPages::load(PageId page, Groups groups, std::span<const std::byte> bytes) const {
  for (size_t i = 0; i < windows().size(); ++i) {
    if ((groups >> (i + 1) & 1) != 0 && bytes[i] != std::byte{1}) return false;
  }
  size_t at = windows().size();
  const auto load_group = [&](bool wanted, const KvRegion& region, FrameId frame) {
    const auto from = bytes.subspan(at, static_cast<size_t>(region.frame_bytes()));
    at += from.size();
    if (wanted) region.load(frame, from);
  };
  load_group((groups & 1) != 0, *main_, page);
  for (size_t i = 0; i < windows().size(); ++i) {
    const bool wanted = (groups >> (i + 1) & 1) != 0;
    load_group(wanted, windows()[i]->region(), wanted ? windows()[i]->of(page) : -1);
  }
  return true;
}

void KvPages::save_state(PageId page, std::span<std::byte> bytes) const {
  states_->region().save(states_->of(page), bytes);
}

void KvPages::load_state(PageId page, std::span<const std::byte> bytes) const {
  states_->region().load(states_->of(page), bytes);
}

}  // namespace ruv
