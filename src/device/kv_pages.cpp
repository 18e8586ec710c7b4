#include "device/kv_pages.h"

#include <cstring>

namespace ruv {

Result<KvPages> KvPages::create(const KvShape& shape, int64_t n_pages) {
  const int64_t n_runs = (n_pages + kRunPages - 1) / kRunPages;
  Buffer memory = TRY(Buffer::allocate(n_runs * kRunPages * shape.page_bytes()));
  return KvPages(shape, n_pages, std::move(memory));
}

namespace {

// One key into column `to` of a transposed page.
void store_key_halves(const Kernels& kernels, const float* key, int64_t head_dim, uint16_t* to) {
  uint16_t halves[kMaxHeadDim];
  kernels.to_f16(key, halves, head_dim);
  for (int64_t d = 0; d < head_dim; ++d) to[d * kPageTokens] = halves[d];
}

}  // namespace

void KvPages::store(const Kernels& kernels, Place to, const float* key, const float* value) const {
  std::byte* const keys_at = keys(to.page, to.layer, to.head);
  std::byte* const values_at = values(to.page, to.layer, to.head);
  const int64_t head_dim = shape_.head_dim;
  if (shape_.type == KvType::f16) {
    store_key_halves(kernels, key, head_dim, reinterpret_cast<uint16_t*>(keys_at) + to.slot);
    kernels.to_f16(value, reinterpret_cast<uint16_t*>(values_at) + to.slot * head_dim, head_dim);
    return;
  }
  int8_t q[kMaxHeadDim] = {};
  const float key_scale = kernels.quantize_head(key, q, head_dim).scale;
  for (int64_t d = 0; d < (head_dim + 3) / 4 * 4; ++d) {
    keys_at[(d / 4 * kPageTokens + to.slot) * 4 + d % 4] = static_cast<std::byte>(q[d] + 128);
  }
  const float value_scale = kernels.quantize_head(value, q, head_dim).scale;
  for (int64_t d = 0; d < head_dim; ++d) {
    values_at[(to.slot / 2 * head_dim + d) * 2 + to.slot % 2] = static_cast<std::byte>(q[d]);
  }
  const auto at = to.slot * int64_t{sizeof(float)};
  std::memcpy(keys_at + shape_.key_bytes() + at, &key_scale, sizeof key_scale);
  std::memcpy(values_at + shape_.value_bytes() + at, &value_scale, sizeof value_scale);
}

template <class F>
void KvPages::for_streams(PageId page, const F& f) const {
  int64_t offset = 0;
  for (int64_t layer = 0; layer < shape_.n_layers; ++layer) {
    for (int64_t stream = 0; stream < 2 * shape_.n_kv_heads; ++stream) {
      f(at(page, layer, stream), offset);
      offset += shape_.head_bytes();
    }
  }
}

void KvPages::clear(PageId page) const {
  const auto n = static_cast<size_t>(shape_.head_bytes());
  for_streams(page, [&](std::byte* stream, int64_t) { std::memset(stream, 0, n); });
}

void KvPages::copy(PageId from, PageId to) const {
  const auto n = static_cast<size_t>(shape_.head_bytes());
  const std::byte* const begin = at(from, 0, 0);
  for_streams(to, [&](std::byte* stream, int64_t) {
    std::memcpy(stream, begin + (stream - at(to, 0, 0)), n);
  });
}

void KvPages::save(PageId page, std::span<std::byte> bytes) const {
  const auto n = static_cast<size_t>(shape_.head_bytes());
  for_streams(page, [&](const std::byte* stream, int64_t offset) {
    std::memcpy(bytes.data() + offset, stream, n);
  });
}

void KvPages::load(PageId page, std::span<const std::byte> bytes) const {
  const auto n = static_cast<size_t>(shape_.head_bytes());
  for_streams(page, [&](std::byte* stream, int64_t offset) {
    std::memcpy(stream, bytes.data() + offset, n);
  });
}

}  // namespace ruv
