// KvShape: what a layer keeps of each token, in pages of kPageTokens tokens.
#pragma once

#include "ruv/kv_type.h"
#include "tensor/page.h"

namespace ruv {

// Heads are at most this wide; loading refuses wider ones.
inline constexpr int64_t kMaxHeadDim = 1024;
// With tiered types a query reads the keys of its own group of this many tokens, counted from
// position 0, from tails and older ones from the store (docs/kv-precision.md). Attention's chunks
// are these groups.
inline constexpr int64_t kGroupTokens = 256;
inline constexpr int64_t kGroupPages = kGroupTokens / kPageTokens;

// Pages that n_tokens tokens begin; the last one need not be full.
constexpr int64_t pages_for(int64_t n_tokens) { return (n_tokens + kPageTokens - 1) / kPageTokens; }

// How a type stores the numbers of one token and head.
struct KvTypeRow {
  KvType type;
  int bits;             // of a number
  int64_t fill;         // rows of numbers are filled up to a multiple of this many
  int64_t scale_bytes;  // a scale in bf16, followed by a least number if the type has one
  bool rotates_keys;    // by rotate_head, which spreads outlier channels; queries are rotated alike
  bool is_tiered;       // codes; the newest tokens are kept in f16 too, as tails
};
inline constexpr KvTypeRow kKvTypeRows[] = {{KvType::f16, 16, 1, 0, false, false},
                                            {KvType::int8, 8, 4, 2, true, false},
                                            {KvType::int4, 4, 8, 4, true, true},
                                            {KvType::int2, 2, 16, 4, true, true}};
constexpr const KvTypeRow& kv_type_row(KvType type) {
  return kKvTypeRows[static_cast<size_t>(type)];
}
constexpr bool is_tiered(KvType type) { return kv_type_row(type).is_tiered; }
constexpr bool rotates_keys(KvType type) { return kv_type_row(type).rotates_keys; }
// Bits of a code; 0 for types that have none.
constexpr int code_bits(KvType type) { return is_tiered(type) ? kv_type_row(type).bits : 0; }

// What one layer keeps: keys and values of its tokens, a running state of the sequence, or both.
// Byte counts are those of one page, and of one state.
struct KvShape {
  int64_t n_heads = 0;  // of keys and of values; 0: the layer keeps no tokens
  int64_t key_dim = 0;
  int64_t value_dim = 0;
  KvType type = KvType::f16;
  int64_t state_bytes = 0;  // 0: the layer keeps no state

  bool has_tokens() const { return n_heads > 0; }
  bool has_state() const { return state_bytes > 0; }
  // The same keys and values, and the same state alone: they lie in different groups.
  KvShape tokens() const { return {n_heads, key_dim, value_dim, type}; }
  KvShape state() const { return {.state_bytes = state_bytes}; }

  // Numbers of one head's keys, and of its values.
  int64_t key_bytes() const { return number_bytes(key_dim); }
  int64_t value_bytes() const { return number_bytes(value_dim); }
  // Scales of one head's keys or values.
  int64_t scale_bytes() const { return kPageTokens * kv_type_row(type).scale_bytes; }
  // All of them.
  int64_t page_bytes() const { return n_heads * (key_bytes() + value_bytes() + 2 * scale_bytes()); }

  bool operator==(const KvShape&) const = default;

 private:
  int64_t number_bytes(int64_t dim) const {
    const KvTypeRow& row = kv_type_row(type);
    return (dim + row.fill - 1) / row.fill * row.fill * kPageTokens * row.bits / 8;
  }
};

}  // namespace ruv
