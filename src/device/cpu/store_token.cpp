// A token is stored in the settled form of its layer and, for tiered types, in the f16 tail as
// well. Keys of integer types are rotated first, which spreads outliers over all dimensions.
#include "device/cpu/store_token.h"

#include <algorithm>
#include <bit>

#include "device/kv_codes.h"

namespace ruv {
namespace {

// One form of a layer's tokens: where those of one frame and head are.
struct TokenForm {
  KvShape shape;
  int64_t slot;
  std::byte* keys;
  std::byte* values;
  uint16_t* key_scales;
  uint16_t* value_scales;
};

TokenForm form_of(const CpuDevice& device, const KvView& view, TokenPlace to) {
  const FrameId frame = view.frame(to.page);
  const KvRegion& region = *view.region;
  const auto scales = [&](Address at) { return reinterpret_cast<uint16_t*>(device.pointer(at)); };
  return {.shape = view.shape(),
          .slot = to.slot,
          .keys = device.pointer(region.keys(frame, view.layer, to.head)),
          .values = device.pointer(region.values(frame, view.layer, to.head)),
          .key_scales = scales(region.key_scales(frame, view.layer, to.head)),
          .value_scales = scales(region.value_scales(frame, view.layer, to.head))};
}

// The key goes into column `slot` of a transposed frame.
void store_f16(const Kernels& kernels, const TokenForm& to, const float* key, const float* value) {
  uint16_t halves[kMaxHeadDim];
  kernels.to_f16(key, halves, to.shape.key_dim);
  auto* const column = reinterpret_cast<uint16_t*>(to.keys) + to.slot;
  for (int64_t d = 0; d < to.shape.key_dim; ++d) column[d * kPageTokens] = halves[d];
  auto* const row = reinterpret_cast<uint16_t*>(to.values);
  kernels.to_f16(value, row + to.slot * to.shape.value_dim, to.shape.value_dim);
}

void store_int8(const Kernels& kernels, const TokenForm& to, const float* key, const float* value) {
  const KvShape& s = to.shape;
  const auto bf16 = [](float x) { return static_cast<uint16_t>(std::bit_cast<uint32_t>(x) >> 16); };
  int8_t q[kMaxHeadDim] = {};
  to.key_scales[to.slot] = bf16(kernels.quantize_head(key, q, s.key_dim).scale);
  for (int64_t d = 0; d < (s.key_dim + 3) / 4 * 4; ++d) {
    to.keys[(d / 4 * kPageTokens + to.slot) * 4 + d % 4] = static_cast<std::byte>(q[d] + 128);
  }
  to.value_scales[to.slot] = bf16(kernels.quantize_head(value, q, s.value_dim).scale);
  for (int64_t d = 0; d < s.value_dim; ++d) {
    to.values[(to.slot / 2 * s.value_dim + d) * 2 + to.slot % 2] = static_cast<std::byte>(q[d]);
  }
}

void store_codes(const TokenForm& to, const float* key, const float* value) {
  const KvShape& s = to.shape;
  const int bits = code_bits(s.type);
  const auto store_scale = [&](uint16_t* scales, CodeScale by) {
    scales[to.slot] = by.scale;
    scales[kPageTokens + to.slot] = by.low;
  };
  uint8_t codes[kMaxHeadDim];
  store_scale(to.key_scales, quantize_codes(key, codes, s.key_dim, bits));
  store_key_codes(codes, s.key_dim, to.slot, bits, to.keys);
  store_scale(to.value_scales, quantize_codes(value, codes, s.value_dim, bits));
  store_value_codes(codes, s.value_dim, to.slot, bits, to.values);
}

void store(const Kernels& kernels, const TokenForm& to, const float* key, const float* value) {
  switch (to.shape.type) {
    case KvType::f16:
      return store_f16(kernels, to, key, value);
    case KvType::int8:
      return store_int8(kernels, to, key, value);
    case KvType::int4:
    case KvType::int2:
      return store_codes(to, key, value);
  }
}

}  // namespace

void store_token(const Kernels& kernels, const KvPages& pages, TokenPlace to, const float* key,
                 const float* value) {
  const auto& device = static_cast<const CpuDevice&>(pages.device());
  const KvView& old = pages.settled(to.layer);
  const KvView& fresh = pages.newest(to.layer);
  float rotated[kMaxHeadDim];
  if (rotates_keys(old.type())) {
    std::copy_n(key, old.shape().key_dim, rotated);
    rotate_head(rotated, old.shape().key_dim);
    key = rotated;
  }
  store(kernels, form_of(device, old, to), key, value);
  if (fresh.region != old.region) store(kernels, form_of(device, fresh, to), key, value);
}

}  // namespace ruv
