// KvRegion: memory for the keys and values of some layers, in frames of one page each. Frames with
// neighbouring numbers lie side by side, head by head, so that a thread that walks one head of a
// sequence mostly reads one long stream:
//
//   run of kRunFrames frames ─ layer ─┬─ head of keys   ─┬─ numbers of a frame
//                                     └─ head of values  └─ scales of a frame
//
// f16:  keys (key_dim, kPageTokens), transposed: one vector load gives one dimension of 16 keys;
//       values (kPageTokens, value_dim). No scales.
// int8: as kernels/kernels.h says, of rotated keys (device/kv_codes.h): words of four dimensions,
//       pairs of tokens; a scale per token.
// int4, int2: as kernels/kernels.h says, of rotated keys (device/kv_codes.h); a scale and a least
//       number per token.
//
// Running states follow the runs: a frame of all layers is one piece, since a step reads all of it.
// They are not rounded up to whole runs, which may be megabytes.
#pragma once

#include <span>
#include <vector>

#include "device/batch.h"
#include "device/cache_layout.h"
#include "device/device.h"

namespace ruv {

class KvRegion {
 public:
  static constexpr int64_t kRunFrames = 16;

  // Memory of `device`, which must outlive it, for n_frames pages of these layers. Fails:
  // out_of_memory.
  static Result<KvRegion> create(Device& device, std::vector<KvShape> layers, int64_t n_frames);

  int64_t n_frames() const { return n_frames_; }
  int64_t n_layers() const { return static_cast<int64_t>(layers_.size()); }
  int64_t n_bytes() const { return memory_.n_bytes; }
  // Bytes of one frame.
  int64_t frame_bytes() const { return run_bytes_ / kRunFrames + state_bytes_; }
  const KvShape& shape(int64_t layer) const { return at(layer).shape; }

  Address keys(FrameId frame, int64_t layer, int64_t head) const {
    return numbers_of(key_stream(frame, layer, head), frame, at(layer).key_bytes);
  }
  Address values(FrameId frame, int64_t layer, int64_t head) const {
    return numbers_of(value_stream(frame, layer, head), frame, at(layer).value_bytes);
  }
  Address state(FrameId frame, int64_t layer) const {
    return states_of(frame) + at(layer).state_begin;
  }
  // bf16 of every token: kPageTokens scales, followed by least numbers if the type has them.
  Address key_scales(FrameId frame, int64_t layer, int64_t head) const {
    return scales_of(key_stream(frame, layer, head), frame, at(layer).key_bytes, at(layer));
  }
  Address value_scales(FrameId frame, int64_t layer, int64_t head) const {
    return scales_of(value_stream(frame, layer, head), frame, at(layer).value_bytes, at(layer));
  }

  void clear(FrameId frame) const;
  void copy(FrameId from, FrameId to) const;
  // A frame as one run of frame_bytes() bytes, and back.
  void save(FrameId frame, std::span<std::byte> bytes) const;
  void load(FrameId frame, std::span<const std::byte> bytes) const;

 private:
  struct Layer {
    KvShape shape;
    int64_t begin = 0;        // in a run
    int64_t state_begin = 0;  // in a frame's states
    int64_t key_bytes = 0, value_bytes = 0, scale_bytes = 0;
    int64_t key_stream = 0, value_stream = 0;  // bytes of a head in a run
  };

  KvRegion(Device& device, std::vector<Layer> layers, int64_t n_frames)
      : device_(&device), layers_(std::move(layers)), n_frames_(n_frames) {}

  const Layer& at(int64_t layer) const { return layers_[static_cast<size_t>(layer)]; }
  Address run_of(FrameId frame) const { return memory_.start + frame / kRunFrames * run_bytes_; }
  Address states_of(FrameId frame) const { return states_ + frame * state_bytes_; }
  Address key_stream(FrameId frame, int64_t layer, int64_t head) const {
    return run_of(frame) + (at(layer).begin + head * at(layer).key_stream);
  }
  Address value_stream(FrameId frame, int64_t layer, int64_t head) const {
    const Layer& l = at(layer);
    return run_of(frame) + (l.begin + l.shape.n_heads * l.key_stream + head * l.value_stream);
  }
  static Address numbers_of(Address stream, FrameId frame, int64_t n_bytes) {
    return stream + frame % kRunFrames * n_bytes;
  }
  static Address scales_of(Address stream, FrameId frame, int64_t n_bytes, const Layer& l) {
    return stream + (kRunFrames * n_bytes + frame % kRunFrames * l.scale_bytes);
  }
  // Calls f(start, its bytes, its offset in the saved page) for each piece of a frame.
  template <class F>
  void for_pieces(FrameId frame, const F& f) const;

  Device* device_;
  std::vector<Layer> layers_;
  int64_t run_bytes_ = 0;
  int64_t state_bytes_ = 0;  // of all layers in one frame
  int64_t n_frames_;
  Address states_;
  DeviceMemory memory_;
};

}  // namespace ruv
