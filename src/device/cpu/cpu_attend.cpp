// Attention over pages, and storing keys and values into them.
//
// A tile is some query rows of one sequence, all heads that share one key/value head. For each
// chunk of kChunkTokens keys, counted from position 0: scores, local softmax, weighted values; then
// the chunk merges into the running result (online softmax, Milakov and Gimelshein 2018). Every
// query row goes through the same chunks in the same order whatever else is in the tile, the batch
// or the cache, so its bytes are always the same.
#include <algorithm>
#include <cmath>
#include <limits>

#include "device/cpu/attend_scratch.h"
#include "device/cpu/cpu_ops.h"

namespace ruv {

namespace {

constexpr float kMasked = -std::numeric_limits<float>::infinity();

// Positions [first, last) that a query at `position` sees.
Range visible_keys(int64_t position, int64_t window) {
  const int64_t first = window > 0 ? std::max<int64_t>(0, position - window + 1) : 0;
  return {first, position + 1};
}

// Masks scores of keys outside `keys`; the chunk starts at chunk_begin and has n scores.
void mask(float* scores, int64_t n, int64_t chunk_begin, Range keys) {
  const int64_t first = std::clamp<int64_t>(keys.begin - chunk_begin, 0, n);
  const int64_t last = std::clamp<int64_t>(keys.end - chunk_begin, 0, n);
  std::fill(scores, scores + first, kMasked);
  std::fill(scores + last, scores + n, kMasked);
}

float largest(const float* scores, int64_t n) {
  float result = kMasked;
  for (int64_t i = 0; i < n; ++i) result = std::max(result, scores[i]);
  return result;
}

// total = total · old + chunk · fresh
void merge(float* total, const float* chunk, int64_t n, float old, float fresh) {
  for (int64_t i = 0; i < n; ++i) total[i] = total[i] * old + chunk[i] * fresh;
}

}  // namespace

void CpuOps::store_kv(int64_t layer, View k, View v) {
  for (const BatchSequence& sequence : batch_->sequences) {
    for_rows(sequence.n_rows, k.n_cols * 8,
             [&](int64_t i) { store_row(sequence, i, layer, k, v); });
  }
}

void CpuOps::store_row(const BatchSequence& sequence, int64_t i, int64_t layer, View k, View v) {
  const KvShape& shape = pages_->shape();
  const int64_t head_dim = shape.head_dim;
  const int64_t position = sequence.first_position + i;
  const PageId page = sequence.pages[static_cast<size_t>(position / kPageTokens)];
  const int64_t slot = position % kPageTokens;
  for (int64_t head = 0; head < shape.n_kv_heads; ++head) {
    uint16_t key[kMaxHeadDim];
    kernels_->to_f16(k.row(sequence.row_begin + i) + head * head_dim, key, head_dim);
    uint16_t* const keys = pages_->keys(page, layer, head) + slot;
    for (int64_t d = 0; d < head_dim; ++d) keys[d * kPageTokens] = key[d];
    kernels_->to_f16(v.row(sequence.row_begin + i) + head * head_dim,
                     pages_->values(page, layer, head) + slot * head_dim, head_dim);
  }
}

void CpuOps::attend(View out, View q, const AttendParams& params) {
  const int64_t group = params.n_heads / params.n_kv_heads;
  const int64_t rows_per_tile = std::max<int64_t>(1, kTileRows / group);
  tiles_.clear();
  int64_t numbers = 0;
  for (const BatchSequence& sequence : batch_->sequences) {
    for (int64_t row = 0; row < sequence.n_rows; row += rows_per_tile) {
      const int64_t n_rows = std::min(rows_per_tile, sequence.n_rows - row);
      numbers += n_rows * (sequence.first_position + row) * q.n_cols;
      for (int64_t head = 0; head < params.n_kv_heads; ++head) {
        tiles_.push_back({&sequence, head, row, n_rows});
      }
    }
  }
  const auto n_tiles = static_cast<int64_t>(tiles_.size());
  if (n_tiles < 2 || !worth_threads(numbers)) {
    for (const AttendTile& tile : tiles_) attend_tile(tile, out, q, params, *attend_scratch_[0]);
    return;
  }
  std::atomic<int64_t> next{0};
  pool_->run([&](int thread) {
    for (int64_t i = next++; i < n_tiles; i = next++) {
      // Later tiles of a prompt see more keys: the longest go first.
      attend_tile(tiles_[static_cast<size_t>(n_tiles - 1 - i)], out, q, params,
                  *attend_scratch_[static_cast<size_t>(thread)]);
    }
  });
}

// Query row r of the tile is batch row `r / group`, head `r % group` of the key/value head.
float* CpuOps::query_of(const AttendTile& tile, View view, const AttendParams& params, int64_t r) {
  const int64_t group = params.n_heads / params.n_kv_heads;
  return view.row(tile.sequence->row_begin + tile.first_row + r / group) +
         (tile.kv_head * group + r % group) * params.head_dim;
}

void CpuOps::attend_tile(const AttendTile& tile, View out, View q, const AttendParams& params,
                         AttendScratch& s) const {
  const int64_t head_dim = params.head_dim;
  const int64_t n = tile.n_rows * (params.n_heads / params.n_kv_heads);
  for (int64_t r = 0; r < n; ++r) {
    std::copy_n(query_of(tile, q, params, r), head_dim, s.q.data() + r * head_dim);
  }
  std::fill_n(s.max.begin(), n, kMasked);
  std::fill_n(s.sum.begin(), n, 0.0F);
  std::fill_n(s.total.begin(), n * head_dim, 0.0F);

  const int64_t first_position = tile.sequence->first_position + tile.first_row;
  const int64_t n_keys = first_position + tile.n_rows;  // the last row sees the most
  const int64_t first_key = visible_keys(first_position, params.window).begin;
  for (int64_t begin = first_key / kChunkTokens * kChunkTokens; begin < n_keys;
       begin += kChunkTokens) {
    const int64_t n_pages = std::min(kChunkPages, (n_keys - begin + kPageTokens - 1) / kPageTokens);
    attend_chunk(tile, {begin, begin + n_pages * kPageTokens}, params, s);
    merge_chunk(n, head_dim, s);
  }
  for (int64_t r = 0; r < n; ++r) {
    const float scale = 1.0F / s.sum[static_cast<size_t>(r)];
    float* const to = query_of(tile, out, params, r);
    const float* const total = s.total.data() + r * head_dim;
    for (int64_t d = 0; d < head_dim; ++d) to[d] = total[d] * scale;
  }
}

// Local softmax over the keys of one chunk: chunk_max, chunk_sum and chunk of the scratch.
void CpuOps::attend_chunk(const AttendTile& tile, Range keys, const AttendParams& params,
                          AttendScratch& s) const {
  const int64_t group = params.n_heads / params.n_kv_heads;
  const int64_t n = tile.n_rows * group;
  const int64_t first_position = tile.sequence->first_position + tile.first_row;
  const int64_t n_scores = keys.end - keys.begin;
  const PageId* const pages = tile.sequence->pages.data() + keys.begin / kPageTokens;
  for (int64_t p = 0; p < n_scores / kPageTokens; ++p) {
    kernels_->page_scores(
        s.q.data(), params.head_dim, pages_->keys(pages[p], params.layer, tile.kv_head),
        s.scores.data() + p * kPageTokens, kChunkTokens, n, params.head_dim, params.scale);
  }
  for (int64_t r = 0; r < n; ++r) {
    float* const scores = s.scores.data() + r * kChunkTokens;
    if (params.softcap > 0) kernels_->softcap(scores, n_scores, params.softcap);
    mask(scores, n_scores, keys.begin, visible_keys(first_position + r / group, params.window));
    const float max = largest(scores, n_scores);
    // A row that sees no key of the chunk gets zeros here and is not merged.
    s.chunk_max[static_cast<size_t>(r)] = max;
    s.chunk_sum[static_cast<size_t>(r)] =
        kernels_->exp_sum(scores, n_scores, max == kMasked ? 0.0F : max);
  }
  std::fill_n(s.chunk.begin(), n * params.head_dim, 0.0F);
  for (int64_t p = 0; p < n_scores / kPageTokens; ++p) {
    kernels_->page_values(s.scores.data() + p * kPageTokens, kChunkTokens,
                          pages_->values(pages[p], params.layer, tile.kv_head), s.chunk.data(),
                          params.head_dim, n, params.head_dim);
  }
}

void CpuOps::merge_chunk(int64_t n_rows, int64_t head_dim, AttendScratch& s) {
  for (int64_t r = 0; r < n_rows; ++r) {
    const auto at = static_cast<size_t>(r);
    if (s.chunk_max[at] == kMasked) continue;
    const float max = std::max(s.max[at], s.chunk_max[at]);
    const float old = std::exp(s.max[at] - max);
    const float fresh = std::exp(s.chunk_max[at] - max);
    merge(s.total.data() + r * head_dim, s.chunk.data() + r * head_dim, head_dim, old, fresh);
    s.sum[at] = s.sum[at] * old + s.chunk_sum[at] * fresh;
    s.max[at] = max;
  }
}

}  // namespace ruv
