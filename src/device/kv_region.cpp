// A run holds, layer by layer, the keys of each head for all its frames, then the values, then the
// states. So attention reads the keys of neighbouring frames as one stream.
#include "device/kv_region.h"

namespace ruv {

Result<KvRegion> KvRegion::create(Device& device, std::vector<KvShape> layers, int64_t n_frames) {
  std::vector<Layer> placed;
  int64_t run_bytes = 0;
  for (const KvShape& shape : layers) {
    Layer layer = {shape, run_bytes, shape.key_bytes(), shape.value_bytes(), shape.scale_bytes()};
    layer.key_stream = kRunFrames * (layer.key_bytes + layer.scale_bytes);
    layer.value_stream = kRunFrames * (layer.value_bytes + layer.scale_bytes);
    run_bytes +=
        shape.n_heads * (layer.key_stream + layer.value_stream) + kRunFrames * shape.state_bytes;
    placed.push_back(layer);
  }
  const int64_t n_runs = (n_frames + kRunFrames - 1) / kRunFrames;
  DeviceMemory memory = TRY(device.allocate(n_runs * run_bytes));
  return KvRegion(device, std::move(placed), run_bytes, n_frames, std::move(memory));
}

// Calls f(start, n_bytes, offset) for the parts of a frame, which lie apart in its run. `offset` is
// a part's place in the bytes of a saved frame: their order is the format of records on disk.
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
    piece(state(frame, layer), shape(layer).state_bytes);
  }
}

void KvRegion::clear(FrameId frame) const {
  for_pieces(frame, [&](Address piece, int64_t n, int64_t) { device_->zero(piece, n); });
}

void KvRegion::copy(FrameId from, FrameId to) const {
  for (int64_t layer = 0; layer < n_layers(); ++layer) {
    const Layer& l = at(layer);
    device_->copy(state(to, layer), state(from, layer), l.shape.state_bytes);
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
