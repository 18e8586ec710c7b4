// KvShape: the sizes of keys and values in pages of kPageTokens tokens.
#pragma once

#include "kernels/kernels.h"
#include "ruv/kv_type.h"

namespace ruv {

// Heads are at most this wide; loading refuses wider ones.
inline constexpr int64_t kMaxHeadDim = 1024;
// A query reads the keys of its own group of this many tokens, counted from position 0, from tail
// pages and older ones from store pages (docs/kv-precision.md). Attention's chunks are these
// groups.
inline constexpr int64_t kGroupTokens = 256;
inline constexpr int64_t kGroupPages = kGroupTokens / kPageTokens;

// Pages that n_tokens tokens begin; the last one need not be full.
constexpr int64_t pages_for(int64_t n_tokens) { return (n_tokens + kPageTokens - 1) / kPageTokens; }

// Bits of a code; 0 for types that have none.
constexpr int code_bits(KvType type) {
  return type == KvType::int4 ? 4 : type == KvType::int2 ? 2 : 0;
}
// Whether the newest tokens are stored in another form than old ones.
constexpr bool is_tiered(KvType type) { return code_bits(type) > 0; }
// Whether keys are stored rotated (rotate_head), which spreads outlier channels over the head;
// queries are rotated alike.
constexpr bool rotates_keys(KvType type) { return type != KvType::f16; }

struct KvShape {
  int64_t n_layers = 0;
  int64_t n_kv_heads = 0;
  int64_t head_dim = 0;
  KvType type = KvType::f16;

  // Bytes of the numbers of one page, layer and head, of keys or of values (which need no more).
  int64_t number_bytes() const {
    const auto filled = [this](int64_t unit) { return (head_dim + unit - 1) / unit * unit; };
    switch (type) {
      case KvType::f16:
        return head_dim * kPageTokens * 2;
      case KvType::int8:
        return filled(4) * kPageTokens;
      case KvType::int4:
        return filled(8) * kPageTokens / 2;
      case KvType::int2:
        return filled(16) * kPageTokens / 4;
    }
    return 0;
  }
  // Bytes of scales per token and head, in bf16: int8 has a scale, codes have a scale and a least
  // number.
  int64_t scale_bytes() const {
    if (type == KvType::f16) return 0;
    return kPageTokens * (is_tiered(type) ? 4 : 2);
  }
  int64_t head_bytes() const { return number_bytes() + scale_bytes(); }
  int64_t page_bytes() const { return n_layers * 2 * n_kv_heads * head_bytes(); }
  int64_t bytes_per_token() const { return page_bytes() / kPageTokens; }
};

}  // namespace ruv
