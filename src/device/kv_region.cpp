// A run holds, layer by layer, the keys of each head for all its frames, then the values. So
// attention reads the keys of neighbouring frames as one stream.
#include "device/kv_region.h"

namespace ruv {

Result<KvRegion> KvRegion::create(Device& device, std::vector<KvShape> layers, int64_t n_frames) {
  KvRegion region(device, {}, n_frames);
  for (const KvShape& shape : layers) {
    Layer layer;
    layer.shape = shape;
    layer.begin = region.run_bytes_;
    layer.state_begin = region.state_bytes_;
    layer.key_bytes = shape.key_bytes();
    layer.value_bytes = shape.value_bytes();
    layer.scale_bytes = shape.scale_bytes();
    layer.key_stream = kRunFrames * (layer.key_bytes + layer.scale_bytes);
    layer.value_stream = kRunFrames * (layer.value_bytes + layer.scale_bytes);
    region.run_bytes_ += shape.n_heads * (layer.key_stream + layer.value_stream);
    region.state_bytes_ += shape.state_bytes;
    region.layers_.push_back(layer);
  }
  const int64_t n_runs = (n_frames + kRunFrames - 1) / kRunFrames;
  const int64_t run_bytes = n_runs * region.run_bytes_;
  region.memory_ = TRY(device.allocate(run_bytes + n_frames * region.state_bytes_));
  region.states_ = region.memory_.start + run_bytes;
  return region;
}

// Calls f(start, n_bytes, offset) for the parts of a frame, which lie apart in the region. `offset`
// is a part's place in the bytes of a saved frame: their order is the format of records on disk.
template <class F>
void KvRegion::for_pieces(FrameId frame, const F& f) const {
  int64_t offset = 0;
  const auto piece = [&](Address start, int64_t n_bytes) {
    if (n_bytes > 0) f(start, n_bytes, offset);
    offset += n_bytes;
  };
  for (int64_t layer = 0; layer < n_layers(); ++layer) {
    for (int64_t head = 0; head < shape(layer).n_heads; ++head) {
      piece(keys(frame, layer, head), at(layer).key_bytes);
      piece(key_scales(frame, layer, head), at(layer).scale_bytes);
    }
    for (int64_t head = 0; head < shape(layer).n_heads; ++head) {
      piece(values(frame, layer, head), at(layer).value_bytes);
      piece(value_scales(frame, layer, head), at(layer).scale_bytes);
    }
  }
  piece(states_of(frame), state_bytes_);
}

void KvRegion::clear(FrameId frame) const {
  for_pieces(frame, [&](Address piece, int64_t n, int64_t) { device_->zero(piece, n); });
}

void KvRegion::copy(FrameId from, FrameId to) const {
  if (state_bytes_ > 0) device_->copy(states_of(to), states_of(from), state_bytes_);
  for (int64_t layer = 0; layer < n_layers(); ++layer) {
    const Layer& l = at(layer);
    for (int64_t head = 0; head < l.shape.n_heads; ++head) {
      device_->copy(keys(to, layer, head), keys(from, layer, head), l.key_bytes);
      device_->copy(values(to, layer, head), values(from, layer, head), l.value_bytes);
      device_->copy(key_scales(to, layer, head), key_scales(from, layer, head), l.scale_bytes);
      device_->copy(value_scales(to, layer, head), value_scales(from, layer, head), l.scale_bytes);
    }
  }
}

void KvRegion::save(FrameId frame, std::span<std::byte> bytes) const {
  for_pieces(frame, [&](Address piece, int64_t n, int64_t offset) {
    device_->download(piece, bytes.subspan(static_cast<size_t>(offset), static_cast<size_t>(n)));
  });
}

void KvRegion::load(FrameId frame, std::span<const std::byte> bytes) const {
  for_pieces(frame, [&](Address piece, int64_t n, int64_t offset) {
    device_->upload(piece, bytes.subspan(static_cast<size_t>(offset), static_cast<size_t>(n)));
  });
}

}  // namespace ruv
