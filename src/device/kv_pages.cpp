#include "device/kv_pages.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace ruv {

Result<KvPages> KvPages::create(const KvShape& shape, int64_t n_pages, int64_t n_tails) {
  const int64_t n_runs = (n_pages + kRunPages - 1) / kRunPages;
  Buffer memory = TRY(Buffer::allocate(n_runs * kRunPages * shape.page_bytes()));
  KvPages pages(shape, n_pages, std::move(memory));
  if (is_tiered(shape.type)) {
    KvShape newest = shape;
    newest.type = KvType::f16;
    const bool each_has_one = n_tails == 0;
    KvPages tail = TRY(create(newest, each_has_one ? n_pages : n_tails));
    pages.tail_ = std::make_unique<KvPages>(std::move(tail));
    pages.tail_of_ = std::make_unique<PageId[]>(static_cast<size_t>(n_pages));
    for (PageId page = 0; page < n_pages; ++page) pages.set_tail(page, each_has_one ? page : -1);
  }
  return pages;
}

void KvPages::store(const Kernels& kernels, Place to, const float* key, const float* value) {
  if (shape_.type == KvType::f16) return store_f16(kernels, to, key, value);
  float rotated[kMaxHeadDim];
  std::copy_n(key, shape_.head_dim, rotated);
  rotate_head(rotated, shape_.head_dim);
  if (shape_.type == KvType::int8) return store_int8(kernels, to, rotated, value);
  store_codes(to, rotated, value);
  to.page = tail_of(to.page);
  tail_->store_f16(kernels, to, rotated, value);
}

// The key goes into column `slot` of a transposed page.
void KvPages::store_f16(const Kernels& kernels, Place to, const float* key, const float* value) {
  const int64_t head_dim = shape_.head_dim;
  uint16_t halves[kMaxHeadDim];
  kernels.to_f16(key, halves, head_dim);
  auto* const column = reinterpret_cast<uint16_t*>(keys(to.page, to.layer, to.head)) + to.slot;
  for (int64_t d = 0; d < head_dim; ++d) column[d * kPageTokens] = halves[d];
  auto* const row = reinterpret_cast<uint16_t*>(values(to.page, to.layer, to.head));
  kernels.to_f16(value, row + to.slot * head_dim, head_dim);
}

void KvPages::store_int8(const Kernels& kernels, Place to, const float* rotated_key,
                         const float* value) {
  const int64_t head_dim = shape_.head_dim;
  std::byte* const key_stream = stream(to.page, to.layer, to.head);
  std::byte* const value_stream = stream(to.page, to.layer, shape_.n_kv_heads + to.head);
  std::byte* const keys_at = numbers_of(key_stream, to.page);
  std::byte* const values_at = numbers_of(value_stream, to.page);
  const auto store_scale = [&](std::byte* scales, float scale) {
    const auto bits = static_cast<uint16_t>(std::bit_cast<uint32_t>(scale) >> 16);
    std::memcpy(scales + to.slot * 2, &bits, 2);
  };
  int8_t q[kMaxHeadDim] = {};
  store_scale(scales_of(key_stream, to.page),
              kernels.quantize_head(rotated_key, q, head_dim).scale);
  for (int64_t d = 0; d < (head_dim + 3) / 4 * 4; ++d) {
    keys_at[(d / 4 * kPageTokens + to.slot) * 4 + d % 4] = static_cast<std::byte>(q[d] + 128);
  }
  store_scale(scales_of(value_stream, to.page), kernels.quantize_head(value, q, head_dim).scale);
  for (int64_t d = 0; d < head_dim; ++d) {
    values_at[(to.slot / 2 * head_dim + d) * 2 + to.slot % 2] = static_cast<std::byte>(q[d]);
  }
}

void KvPages::store_codes(Place to, const float* rotated_key, const float* value) {
  const int64_t head_dim = shape_.head_dim;
  const int bits = code_bits(shape_.type);
  const auto store_scale = [&](std::byte* scales, CodeScale by) {
    std::memcpy(scales + to.slot * 2, &by.scale, 2);
    std::memcpy(scales + (kPageTokens + to.slot) * 2, &by.low, 2);
  };
  std::byte* const key_stream = stream(to.page, to.layer, to.head);
  std::byte* const value_stream = stream(to.page, to.layer, shape_.n_kv_heads + to.head);
  uint8_t codes[kMaxHeadDim];
  store_scale(scales_of(key_stream, to.page), quantize_codes(rotated_key, codes, head_dim, bits));
  store_key_codes(codes, head_dim, to.slot, bits, numbers_of(key_stream, to.page));
  store_scale(scales_of(value_stream, to.page), quantize_codes(value, codes, head_dim, bits));
  store_value_codes(codes, head_dim, to.slot, bits, numbers_of(value_stream, to.page));
}

template <class F>
void KvPages::for_pieces(PageId page, const F& f) const {
  const auto n_numbers = static_cast<size_t>(shape_.number_bytes());
  const auto n_scales = static_cast<size_t>(shape_.scale_bytes());
  int64_t offset = 0;
  for (int64_t layer = 0; layer < shape_.n_layers; ++layer) {
    for (int64_t i = 0; i < 2 * shape_.n_kv_heads; ++i) {
      std::byte* const at = stream(page, layer, i);
      f(numbers_of(at, page), n_numbers, offset);
      f(scales_of(at, page), n_scales, offset + shape_.number_bytes());
      offset += shape_.head_bytes();
    }
  }
}

void KvPages::clear(PageId page) {
  for_pieces(page, [](std::byte* piece, size_t n, int64_t) { std::memset(piece, 0, n); });
  if (tail_ != nullptr && tail_of(page) >= 0) tail_->clear(tail_of(page));
}

void KvPages::copy(PageId from, PageId to) {
  const std::byte* const begin = stream(from, 0, 0);
  const std::byte* const to_begin = stream(to, 0, 0);
  for_pieces(to, [&](std::byte* piece, size_t n, int64_t offset) {
    // Pieces of two pages lie alike within their runs but for the place of the page.
    const bool numbers = offset % shape_.head_bytes() == 0;
    const int64_t apart = (from % kRunPages - to % kRunPages) *
                          (numbers ? shape_.number_bytes() : shape_.scale_bytes());
    std::memcpy(piece, begin + (piece - to_begin) + apart, n);
  });
  if (tail_ == nullptr || tail_of(from) < 0 || tail_of(to) < 0) return;
  tail_->copy(tail_of(from), tail_of(to));
}

void KvPages::save(PageId page, std::span<std::byte> bytes) const {
  for_pieces(page, [&](const std::byte* piece, size_t n, int64_t offset) {
    std::memcpy(bytes.data() + offset, piece, n);
  });
}

void KvPages::load(PageId page, std::span<const std::byte> bytes) {
  for_pieces(page, [&](std::byte* piece, size_t n, int64_t offset) {
    std::memcpy(piece, bytes.data() + offset, n);
  });
}

}  // namespace ruv
