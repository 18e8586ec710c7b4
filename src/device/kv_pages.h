// KvPages: the memory of all key/value pages. A page holds kPageTokens tokens of every layer:
//
//   page ─ layer ─┬─ keys   (n_kv_heads, head_dim, kPageTokens) f16, transposed: one vector load
//                 │                                             gives one dimension of 16 keys
//                 └─ values (n_kv_heads, kPageTokens, head_dim) f16
#pragma once

#include "base/buffer.h"
#include "device/batch.h"
#include "kernels/kernels.h"

namespace ruv {

// Heads are at most this wide; loading refuses wider ones.
inline constexpr int64_t kMaxHeadDim = 1024;

struct KvShape {
  int64_t n_layers = 0;
  int64_t n_kv_heads = 0;
  int64_t head_dim = 0;

  int64_t head_numbers() const { return head_dim * kPageTokens; }
  int64_t layer_numbers() const { return 2 * n_kv_heads * head_numbers(); }
  int64_t page_bytes() const { return n_layers * layer_numbers() * int64_t{sizeof(uint16_t)}; }
  int64_t bytes_per_token() const { return page_bytes() / kPageTokens; }
};

class KvPages {
 public:
  // Memory for n_pages pages. Fails: out_of_memory.
  static Result<KvPages> create(const KvShape& shape, int64_t n_pages);

  const KvShape& shape() const { return shape_; }
  int64_t n_pages() const { return n_pages_; }
  uint16_t* keys(PageId page, int64_t layer, int64_t head) const;
  uint16_t* values(PageId page, int64_t layer, int64_t head) const;
  // Zeroes a page before a new owner writes it: attention multiplies unwritten slots by zero, and
  // zero times a stale infinity would be NaN.
  void clear(PageId page) const;

 private:
  KvPages(const KvShape& shape, int64_t n_pages, Buffer memory)
      : shape_(shape), n_pages_(n_pages), memory_(std::move(memory)) {}
  KvShape shape_;
  int64_t n_pages_;
  Buffer memory_;
};

}  // namespace ruv
