// Sizes and memory of one thread's attention work.
#pragma once

#include <cstdint>
#include <vector>

#include "device/kv_shape.h"

namespace ruv {

// Keys are walked in chunks of this many, counted from position 0. A chunk's softmax is local and
// chunks merge in order, so the result depends on nothing but the sequence.
inline constexpr int64_t kChunkTokens = kGroupTokens;
inline constexpr int64_t kChunkPages = kChunkTokens / kPageTokens;
// Query bytes are filled up with zeros to a multiple of what the keys' layouts ask for.
inline constexpr int64_t kQueryFill = 16;
// Query rows × heads of a tile: enough to reuse each loaded page, and what they gather stays in the
// first-level cache. A multiple of the kernels' row blocks.
inline constexpr int64_t kTileRows = 96;

struct AttendScratch {
  AttendScratch(int64_t head_dim, int64_t max_group)
      : AttendScratch(static_cast<size_t>(head_dim),
                      static_cast<size_t>(max_group > kTileRows ? max_group : kTileRows), 0) {}

  std::vector<float> q;          // (rows, head_dim), gathered
  std::vector<float> scores;     // (rows, kChunkTokens)
  std::vector<float> chunk;      // (rows, head_dim): weighted values of the current chunk
  std::vector<float> chunk_max;  // of the chunk's scores
  std::vector<float> chunk_sum;  // of exp(score - chunk_max)
  std::vector<float> total;      // (rows, head_dim): of all chunks so far, relative to max
  std::vector<float> max;        // of the scores so far
  std::vector<float> sum;        // of exp(score - max) so far
  // What the sums so far and those of a chunk are multiplied by where they merge, per row, filled
  // up to a multiple of kPageTokens.
  std::vector<float> old_weight;
  std::vector<float> chunk_weight;
  // Used with pages of integers only.
  std::vector<int8_t> q_bytes;       // (rows, head_dim filled up to a multiple of kQueryFill)
  std::vector<float> q_scale;        // with the scale of scores
  std::vector<int32_t> q_sum;        // of the bytes
  std::vector<int16_t> weights;      // (rows, kChunkTokens)
  std::vector<float> weight_scale;   // of what the weights give
  std::vector<float> weight_offset;  // what the values' least numbers give
  alignas(64) float key_scales[kChunkTokens];
  alignas(64) float key_middles[kChunkTokens];  // of codes: the number between the middle ones
  alignas(64) float value_scales[kChunkTokens];
  alignas(64) float value_lows[kChunkTokens];   // of codes: the least number
  alignas(64) float seen_scales[kChunkTokens];  // with zeros where a row does not see
  // The pages of the chunk, followed by those that are read next.
  const void* key_pages[2 * kChunkPages];
  const void* value_pages[2 * kChunkPages];
  int64_t n_values_ahead = 0;
  int64_t n_keys_ahead = 0;

 private:
  AttendScratch(size_t head_dim, size_t rows, int)
      : q(rows * head_dim),
        scores(rows * kChunkTokens),
        chunk(rows * head_dim),
        chunk_max(rows),
        chunk_sum(rows),
        total(rows * head_dim),
        max(rows),
        sum(rows),
        old_weight((rows + kPageTokens - 1) / kPageTokens * kPageTokens),
        chunk_weight(old_weight.size()),
        q_bytes(rows * ((head_dim + kQueryFill - 1) / kQueryFill * kQueryFill)),
        q_scale(rows),
        q_sum(rows),
        weights(rows * kChunkTokens),
        weight_scale(rows),
        weight_offset(rows) {}
};

}  // namespace ruv
