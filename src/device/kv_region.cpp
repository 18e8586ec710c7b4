#include "device/kv_region.h"

#include <bit>
#include <cstring>

#include "device/kv_codes.h"

namespace ruv {

Result<KvRegion> KvRegion::create(std::vector<KvShape> layers, int64_t n_frames) {
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
  Buffer memory = TRY(Buffer::allocate(n_runs * run_bytes));
  return KvRegion(std::move(placed), run_bytes, n_frames, std::move(memory));
}

void KvRegion::store(const Kernels& kernels, Place to, const float* key, const float* value) const {
  switch (shape(to.layer).type) {
    case KvType::f16:
      return store_f16(kernels, to, key, value);
    case KvType::int8:
      return store_int8(kernels, to, key, value);
    case KvType::int4:
    case KvType::int2:
      return store_codes(to, key, value);
  }
}

// The key goes into column `slot` of a transposed frame.
void KvRegion::store_f16(const Kernels& kernels, Place to, const float* key,
                         const float* value) const {
  const KvShape& s = shape(to.layer);
  uint16_t halves[kMaxHeadDim];
  kernels.to_f16(key, halves, s.key_dim);
  auto* const column = reinterpret_cast<uint16_t*>(keys(to.frame, to.layer, to.head)) + to.slot;
  for (int64_t d = 0; d < s.key_dim; ++d) column[d * kPageTokens] = halves[d];
  auto* const row = reinterpret_cast<uint16_t*>(values(to.frame, to.layer, to.head));
  kernels.to_f16(value, row + to.slot * s.value_dim, s.value_dim);
}

void KvRegion::store_int8(const Kernels& kernels, Place to, const float* key,
                          const float* value) const {
  const KvShape& s = shape(to.layer);
  std::byte* const keys_at = keys(to.frame, to.layer, to.head);
  std::byte* const values_at = values(to.frame, to.layer, to.head);
  const auto bf16 = [](float x) { return static_cast<uint16_t>(std::bit_cast<uint32_t>(x) >> 16); };
  int8_t q[kMaxHeadDim] = {};
  key_scales(to.frame, to.layer, to.head)[to.slot] =
      bf16(kernels.quantize_head(key, q, s.key_dim).scale);
  for (int64_t d = 0; d < (s.key_dim + 3) / 4 * 4; ++d) {
    keys_at[(d / 4 * kPageTokens + to.slot) * 4 + d % 4] = static_cast<std::byte>(q[d] + 128);
  }
  value_scales(to.frame, to.layer, to.head)[to.slot] =
      bf16(kernels.quantize_head(value, q, s.value_dim).scale);
  for (int64_t d = 0; d < s.value_dim; ++d) {
    values_at[(to.slot / 2 * s.value_dim + d) * 2 + to.slot % 2] = static_cast<std::byte>(q[d]);
  }
}

void KvRegion::store_codes(Place to, const float* key, const float* value) const {
  const KvShape& s = shape(to.layer);
  const int bits = code_bits(s.type);
  const auto store_scale = [&](uint16_t* scales, CodeScale by) {
    scales[to.slot] = by.scale;
    scales[kPageTokens + to.slot] = by.low;
  };
  uint8_t codes[kMaxHeadDim];
  store_scale(key_scales(to.frame, to.layer, to.head), quantize_codes(key, codes, s.key_dim, bits));
  store_key_codes(codes, s.key_dim, to.slot, bits, keys(to.frame, to.layer, to.head));
  store_scale(value_scales(to.frame, to.layer, to.head),
              quantize_codes(value, codes, s.value_dim, bits));
  store_value_codes(codes, s.value_dim, to.slot, bits, values(to.frame, to.layer, to.head));
}

template <class F>
void KvRegion::for_pieces(FrameId frame, const F& f) const {
  int64_t offset = 0;
  const auto piece = [&](std::byte* start, int64_t n_bytes) {
    f(start, static_cast<size_t>(n_bytes), offset);
    offset += n_bytes;
  };
  for (int64_t layer = 0; layer < n_layers(); ++layer) {
    for (int64_t head = 0; head < shape(layer).n_heads; ++head) {
      piece(keys(frame, layer, head), at(layer).key_bytes);
      piece(reinterpret_cast<std::byte*>(key_scales(frame, layer, head)), at(layer).scale_bytes);
    }
    for (int64_t head = 0; head < shape(layer).n_heads; ++head) {
      piece(values(frame, layer, head), at(layer).value_bytes);
      piece(reinterpret_cast<std::byte*>(value_scales(frame, layer, head)), at(layer).scale_bytes);
    }
    piece(state(frame, layer), shape(layer).state_bytes);
  }
}

void KvRegion::clear(FrameId frame) const {
  for_pieces(frame, [](std::byte* piece, size_t n, int64_t) { std::memset(piece, 0, n); });
}

void KvRegion::copy(FrameId from, FrameId to) const {
  const auto copy_pair = [](std::byte* target, const std::byte* source, int64_t n) {
    std::memcpy(target, source, static_cast<size_t>(n));
  };
  for (int64_t layer = 0; layer < n_layers(); ++layer) {
    const Layer& l = at(layer);
    copy_pair(state(to, layer), state(from, layer), l.shape.state_bytes);
    for (int64_t head = 0; head < l.shape.n_heads; ++head) {
      copy_pair(keys(to, layer, head), keys(from, layer, head), l.key_bytes);
      copy_pair(values(to, layer, head), values(from, layer, head), l.value_bytes);
      if (l.scale_bytes == 0) continue;
      std::memcpy(key_scales(to, layer, head), key_scales(from, layer, head),
                  static_cast<size_t>(l.scale_bytes));
      std::memcpy(value_scales(to, layer, head), value_scales(from, layer, head),
                  static_cast<size_t>(l.scale_bytes));
    }
  }
}

void KvRegion::save(FrameId frame, std::span<std::byte> bytes) const {
  for_pieces(frame, [&](const std::byte* piece, size_t n, int64_t offset) {
    std::memcpy(bytes.data() + offset, piece, n);
  });
}

void KvRegion::load(FrameId frame, std::span<const std::byte> bytes) const {
  for_pieces(frame, [&](std::byte* piece, size_t n, int64_t offset) {
    std::memcpy(piece, bytes.data() + offset, n);
  });
}

}  // namespace ruv
