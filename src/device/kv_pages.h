// KvPages: the memory of all key/value pages. A page holds kPageTokens tokens of every layer and
// head. Pages with neighbouring numbers lie side by side, head by head, so that a thread that walks
// one head of a sequence mostly reads one long stream:
//
//   run of kRunPages pages ─ layer ─┬─ head of keys   ─ page
//                                   └─ head of values ─ page
//
// f16:  keys (head_dim, kPageTokens), transposed: one vector load gives one dimension of 16 keys;
//       values (kPageTokens, head_dim).
// int8: as kernels/kernels.h says: words of four dimensions, pairs of tokens, a scale per token.
#pragma once

#include <span>

#include "base/buffer.h"
#include "device/batch.h"
#include "kernels/kernels.h"
#include "ruv/kv_type.h"

namespace ruv {

// Heads are at most this wide; loading refuses wider ones.
inline constexpr int64_t kMaxHeadDim = 1024;

struct KvShape {
  int64_t n_layers = 0;
  int64_t n_kv_heads = 0;
  int64_t head_dim = 0;
  KvType type = KvType::f16;

  // Bytes of the numbers of one page, layer and head; int8 has its scales behind them.
  int64_t key_bytes() const {
    return type == KvType::f16 ? head_dim * kPageTokens * 2 : (head_dim + 3) / 4 * 4 * kPageTokens;
  }
  int64_t value_bytes() const { return type == KvType::f16 ? key_bytes() : head_dim * kPageTokens; }
  // Keys, or values, of one page, layer and head.
  int64_t head_bytes() const {
    return type == KvType::f16 ? key_bytes() : key_bytes() + kPageTokens * int64_t{sizeof(float)};
  }
  int64_t page_bytes() const { return n_layers * 2 * n_kv_heads * head_bytes(); }
  int64_t bytes_per_token() const { return page_bytes() / kPageTokens; }
};

class KvPages {
 public:
  static constexpr int64_t kRunPages = 16;

  // Memory for n_pages pages. Fails: out_of_memory.
  static Result<KvPages> create(const KvShape& shape, int64_t n_pages);

  const KvShape& shape() const { return shape_; }
  int64_t n_pages() const { return n_pages_; }
  std::byte* keys(PageId page, int64_t layer, int64_t head) const { return at(page, layer, head); }
  std::byte* values(PageId page, int64_t layer, int64_t head) const {
    return at(page, layer, shape_.n_kv_heads + head);
  }
  // The scales of int8 values: kPageTokens numbers.
  const float* value_scales(PageId page, int64_t layer, int64_t head) const {
    return reinterpret_cast<const float*>(values(page, layer, head) + shape_.value_bytes());
  }
  // Writes the key and the value of one token, `slot` within the page.
  struct Place {
    PageId page;
    int64_t slot;
    int64_t layer;
    int64_t head;
  };
  void store(const Kernels& kernels, Place to, const float* key, const float* value) const;
  // Zeroes a page before a new owner writes it: attention multiplies unwritten slots by zero, and
  // zero times a stale infinity would be NaN.
  void clear(PageId page) const;
  void copy(PageId from, PageId to) const;
  // A page as one run of shape().page_bytes() bytes, and back. Pages of equal tokens of one model
  // give equal bytes. Requires: bytes has that size.
  void save(PageId page, std::span<std::byte> bytes) const;
  void load(PageId page, std::span<const std::byte> bytes) const;

 private:
  // Calls f(start of a stream, its offset in the saved page) for all layers and heads.
  template <class F>
  void for_streams(PageId page, const F& f) const;

  KvPages(const KvShape& shape, int64_t n_pages, Buffer memory)
      : shape_(shape), n_pages_(n_pages), memory_(std::move(memory)) {}
  // Keys of head `stream`, or values of head `stream - n_kv_heads`.
  std::byte* at(PageId page, int64_t layer, int64_t stream) const {
    const int64_t run = page / kRunPages;
    const int64_t n_streams = 2 * shape_.n_kv_heads;
    const int64_t index =
        ((run * shape_.n_layers + layer) * n_streams + stream) * kRunPages + page % kRunPages;
    return memory_.get() + index * shape_.head_bytes();
  }

  KvShape shape_;
  int64_t n_pages_;
  Buffer memory_;
};

}  // namespace ruv
