// KvPages: the memory of all key/value pages. A page holds kPageTokens tokens of every layer and
// head. Pages with neighbouring numbers lie side by side, head by head, so that a thread that walks
// one head of a sequence mostly reads one long stream:
//
//   run of kRunPages pages ─ layer ─┬─ head of keys   ─┬─ numbers of a page
//                                   └─ head of values  └─ scales of a page
//
// f16:  keys (head_dim, kPageTokens), transposed: one vector load gives one dimension of 16 keys;
//       values (kPageTokens, head_dim). No scales.
// int8: as kernels/kernels.h says, of rotated keys (device/kv_codes.h): words of four dimensions,
//       pairs of tokens; a scale per token.
// int4, int2: as kernels/kernels.h says, of rotated keys (device/kv_codes.h); a scale and a least
//       number per token. tail() has the newest of the same tokens in f16.
#pragma once

#include <memory>
#include <span>

#include "base/buffer.h"
#include "device/batch.h"
#include "device/kv_codes.h"
#include "device/kv_shape.h"

namespace ruv {

class KvPages {
 public:
  static constexpr int64_t kRunPages = 16;

  // Memory for n_pages pages, and of tiered types for n_tails pages in tail(), which pages have to
  // be given with set_tail; 0: as many as n_pages, and each page has its own. Fails: out_of_memory.
  static Result<KvPages> create(const KvShape& shape, int64_t n_pages, int64_t n_tails = 0);

  const KvShape& shape() const { return shape_; }
  int64_t n_pages() const { return n_pages_; }
  // Memory of all pages, tails included.
  int64_t n_bytes() const { return memory_.n_bytes() + (tail_ != nullptr ? tail_->n_bytes() : 0); }
  // Where a query finds the keys of its own group: f16 pages of tiered types, else these.
  const KvPages& tail() const { return tail_ != nullptr ? *tail_ : *this; }
  KvPages& tail() { return tail_ != nullptr ? *tail_ : *this; }
  // The page of tail() that has a page's tokens; -1: none has. Constant during a step.
  PageId tail_of(PageId page) const { return tail_of_ != nullptr ? tail_of_[page] : page; }
  // Requires: a tiered type.
  void set_tail(PageId page, PageId tail) { tail_of_[page] = tail; }
  const std::byte* keys(PageId page, int64_t layer, int64_t head) const {
    return numbers_of(stream(page, layer, head), page);
  }
  const std::byte* values(PageId page, int64_t layer, int64_t head) const {
    return keys(page, layer, shape_.n_kv_heads + head);
  }
  std::byte* keys(PageId page, int64_t layer, int64_t head) {
    return numbers_of(stream(page, layer, head), page);
  }
  std::byte* values(PageId page, int64_t layer, int64_t head) {
    return keys(page, layer, shape_.n_kv_heads + head);
  }
  // bf16 of every token: kPageTokens scales, followed by least numbers if the type has them.
  const uint16_t* key_scales(PageId page, int64_t layer, int64_t head) const {
    return reinterpret_cast<const uint16_t*>(scales_of(stream(page, layer, head), page));
  }
  const uint16_t* value_scales(PageId page, int64_t layer, int64_t head) const {
    return key_scales(page, layer, shape_.n_kv_heads + head);
  }
  // Writes the key and the value of one token, `slot` within the page, in all its forms. Requires:
  // the page has a tail.
  struct Place {
    PageId page;
    int64_t slot;
    int64_t layer;
    int64_t head;
  };
  void store(const Kernels& kernels, Place to, const float* key, const float* value);
  // Zeroes a page before a new owner writes it: attention multiplies unwritten slots by zero, and
  // zero times a stale infinity would be NaN. Clears and copies tails of pages that have one.
  void clear(PageId page);
  void copy(PageId from, PageId to);
  // A page as one run of shape().page_bytes() bytes, and back; without its tail. Pages of equal
  // tokens of one model give equal bytes. Requires: bytes has that size.
  void save(PageId page, std::span<std::byte> bytes) const;
  void load(PageId page, std::span<const std::byte> bytes);

 private:
  // Calls f(start of a piece, its bytes, its offset in the saved page) for all layers and heads.
  template <class F>
  void for_pieces(PageId page, const F& f) const;
  void store_f16(const Kernels& kernels, Place to, const float* key, const float* value);
  void store_int8(const Kernels& kernels, Place to, const float* rotated_key, const float* value);
  void store_codes(Place to, const float* rotated_key, const float* value);

  KvPages(const KvShape& shape, int64_t n_pages, Buffer memory)
      : shape_(shape),
        n_pages_(n_pages),
        n_streams_(2 * shape.n_kv_heads),
        number_bytes_(shape.number_bytes()),
        scale_bytes_(shape.scale_bytes()),
        stream_bytes_(kRunPages * shape.head_bytes()),
        memory_(std::move(memory)) {}
  // Keys of head `stream`, or values of head `stream - n_kv_heads`, of the page's whole run.
  std::byte* stream(PageId page, int64_t layer, int64_t stream) const {
    const int64_t index = (page / kRunPages * shape_.n_layers + layer) * n_streams_ + stream;
    return memory_.get() + index * stream_bytes_;
  }
  std::byte* numbers_of(std::byte* stream, PageId page) const {
    return stream + page % kRunPages * number_bytes_;
  }
  std::byte* scales_of(std::byte* stream, PageId page) const {
    return stream + kRunPages * number_bytes_ + page % kRunPages * scale_bytes_;
  }

  KvShape shape_;
  int64_t n_pages_;
  int64_t n_streams_;     // of keys and of values, in a layer
  int64_t number_bytes_;  // those of the shape, asked for often
  int64_t scale_bytes_;
  int64_t stream_bytes_;
  Buffer memory_;
  std::unique_ptr<KvPages> tail_;      // of tiered types
  std::unique_ptr<PageId[]> tail_of_;  // by page
};

}  // namespace ruv
