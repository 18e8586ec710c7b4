#include "device/kv_frames.h"

#include <algorithm>

namespace ruv {

int64_t frames_for(const KvReach& reach, const FrameLimits& limits, int64_t n_pages) {
  if (reach.is_state()) return reach.enough_for(limits) + limits.n_checkpoints;
  return std::min(n_pages, reach.enough_for(limits) + limits.n_kept);
}

KvFrames::KvFrames(KvReach reach, KvRegion region, int64_t n_pages, int64_t n_kept)
    : reach_(reach),
      region_(std::move(region)),
      n_pages_(n_pages),
      n_kept_(n_kept),
      frame_of_(std::make_unique<FrameId[]>(static_cast<size_t>(n_pages))) {
  std::fill_n(frame_of_.get(), n_pages, FrameId{-1});
}

Result<KvFrames> KvFrames::create(Device& device, KvReach reach, std::vector<KvShape> layers,
                                  int64_t n_pages, const FrameLimits& limits) {
  const int64_t n_frames = frames_for(reach, limits, n_pages);
  const int64_t n_kept = std::max<int64_t>(0, n_frames - reach.enough_for(limits));
  return KvFrames(reach, TRY(KvRegion::create(device, std::move(layers), n_frames)), n_pages,
                  n_kept);
}

}  // namespace ruv
