#include "device/cpu/cpu_attend.h"

#include <algorithm>
#include <limits>

#include "device/kv_codes.h"
#include "device/visible_keys.h"
#include "tensor/half.h"

namespace ruv {

namespace {

constexpr float kMasked = -std::numeric_limits<float>::infinity();
// With fewer tiles per thread than this, threads share tiles: one tile more or less must not
// matter.
constexpr int64_t kTilesPerThread = 8;
constexpr int64_t kPiecesPerThread = 8;
constexpr int64_t kAheadPages = kChunkPages;
// Weights of integer values are int16 with this for the largest value scale of the chunk.
constexpr float kFullWeight = 32767.0F;
constexpr float kLeastScale = 1e-30F;  // below it values are nothing

// Adds what head `head` of the query at `position` has for the keys from `first_key` on.
void add_alibi(const Alibi& alibi, int64_t head, int64_t position, int64_t first_key, float* scores,
               int64_t n) {
  const float slope = alibi.slopes[static_cast<size_t>(head)];
  if (!alibi.in_bf16) {
    const int64_t before = std::clamp<int64_t>(position - first_key, 0, n);
    for (int64_t i = 0; i < before; ++i) {
      scores[i] -= slope * static_cast<float>(position - first_key - i);
    }
    for (int64_t i = before; i < n; ++i) {
      scores[i] -= slope * static_cast<float>(first_key + i - position);
    }
    return;
  }
  const auto bias_of = [slope](int64_t at) {
    return f32_from_bf16(bf16_from_f32(slope * static_cast<float>(at)));
  };
  const float own = bias_of(position);
  for (int64_t i = 0; i < n; ++i) scores[i] += alibi.scale * (bias_of(first_key + i) - own);
}

// The row of a view that this row of the step has, or null where the view has none.
const float* row_of(const CpuDevice& device, View view, int64_t row) {
  return view.n_rows == 0 ? nullptr : device.numbers(view.row(row));
}

int64_t rounded_up(int64_t n, int64_t unit) { return (n + unit - 1) / unit * unit; }

}  // namespace

CpuAttend::CpuAttend(const Kernels& kernels, WorkerPool& pool, const KvPages& pages,
                     const AttendLimits& limits)
    : kernels_(&kernels),
      pool_(&pool),
      device_(&static_cast<const CpuDevice&>(pages.device())),
      pages_(&pages),
      max_shared_tiles_(kTilesPerThread * pool.n_threads()) {
  tiles_.reserve(static_cast<size_t>(limits.max_rows) * 8);
  for (int i = 0; i < pool.n_threads(); ++i) {
    scratch_.push_back(std::make_unique<AttendScratch>(limits.max_head_dim, limits.max_group));
  }
  chunks_left_ = std::make_unique<std::atomic<int64_t>[]>(static_cast<size_t>(max_shared_tiles_));
}

Result<std::unique_ptr<CpuAttend>> CpuAttend::create(const Kernels& kernels, WorkerPool& pool,
                                                     const KvPages& pages,
                                                     const AttendLimits& limits) {
  std::unique_ptr<CpuAttend> attend(new CpuAttend(kernels, pool, pages, limits));
  if (pool.n_threads() == 1) return attend;
  // One decoding row per shared tile over all pages there are; more rows are whole tiles.
  const int64_t max_chunks = pages.n_pages() / kChunkPages + 2;
  attend->pieces_.reserve(
      static_cast<size_t>(attend->max_shared_tiles_ + 2 * kPiecesPerThread * pool.n_threads()));
  attend->results_ =
      TRY(Buffer::allocate(attend->max_shared_tiles_ * limits.max_group * max_chunks *
                           (limits.max_head_dim + 2) * int64_t{sizeof(float)}));
  return attend;
}

void CpuAttend::run(const Batch& batch, View out, View q, const AttendParams& params) {
  const Call call{&batch, out, q, &params};
  const int64_t numbers = make_tiles(call);
  if (pool_->n_threads() < 2 || numbers < 32768) {
    for (const Tile& tile : tiles_) attend_tile(tile, call, *scratch_[0]);
  } else if (make_pieces(call)) {
    run_pieces(call);
  } else {
    run_tiles(call);
  }
}

int64_t CpuAttend::make_tiles(const Call& call) {
  const int64_t rows_per_tile = std::max<int64_t>(1, kTileRows / call.group());
  const KvType type = type_of(call);
  tiles_.clear();
  int64_t numbers = 0;
  const auto seen = [&](const BatchSequence& sequence, int64_t row) {
    return visible_keys(*call.batch, sequence, row, *call.params);
  };
  for (const BatchSequence& sequence : call.batch->sequences) {
    for (int64_t row = 0, n_rows = 0; row < sequence.n_rows; row += n_rows) {
      const int64_t first = sequence.first_position + row;
      n_rows = std::min(rows_per_tile, sequence.n_rows - row);
      if (is_tiered(type)) n_rows = std::min(n_rows, kGroupTokens - first % kGroupTokens);
      const Range keys = {seen(sequence, row).begin, seen(sequence, row + n_rows - 1).end};
      const Range chunks = {keys.begin / kChunkTokens,
                            rounded_up(keys.end, kChunkTokens) / kChunkTokens};
      numbers += n_rows * keys.end * call.q.n_cols;
      for (int64_t head = 0; head < call.params->n_kv_heads; ++head) {
        tiles_.push_back({&sequence, head, row, n_rows, keys, chunks, nullptr});
      }
    }
  }
  return numbers;
}

bool CpuAttend::make_pieces(const Call& call) {
  if (static_cast<int64_t>(tiles_.size()) >= max_shared_tiles_) return false;
  pieces_.clear();
  float* results = results_.as<float>();
  const float* const end = results + results_.n_bytes() / int64_t{sizeof(float)};
  int64_t n_chunks = 0;
  for (Tile& tile : tiles_) {
    const int64_t n = tile.chunks.end - tile.chunks.begin;
    const int64_t n_floats = n * tile.n_rows * call.group() * (call.params->value_dim + 2);
    if (n_floats > end - results) return false;
    tile.results = results;
    results += n_floats;
    n_chunks += n;
  }
  const int64_t per_piece = rounded_up(n_chunks, kPiecesPerThread * pool_->n_threads()) /
                            (kPiecesPerThread * pool_->n_threads());
  for (size_t i = 0; i < tiles_.size(); ++i) {
    const Range chunks = tiles_[i].chunks;
    chunks_left_[i].store(chunks.end - chunks.begin, std::memory_order_relaxed);
    for (int64_t at = chunks.begin; at < chunks.end; at += per_piece) {
      pieces_.push_back({static_cast<int64_t>(i), {at, std::min(at + per_piece, chunks.end)}});
    }
  }
  return true;
}

void CpuAttend::run_tiles(const Call& call) {
  const auto n_tiles = static_cast<int64_t>(tiles_.size());
  pool_->run_items(n_tiles, [&](int thread, int64_t i) {
    // Later tiles of a prompt see more keys: the longest go first.
    attend_tile(tiles_[static_cast<size_t>(n_tiles - 1 - i)], call,
                *scratch_[static_cast<size_t>(thread)]);
  });
}

void CpuAttend::run_pieces(const Call& call) {
  pool_->run_items(static_cast<int64_t>(pieces_.size()), [&](int thread, int64_t i) {
    attend_piece(pieces_[static_cast<size_t>(i)], call, *scratch_[static_cast<size_t>(thread)]);
  });
}

void CpuAttend::attend_tile(const Tile& tile, const Call& call, AttendScratch& s) const {
  const int64_t n = tile.n_rows * call.group();
  const int64_t value_dim = call.params->value_dim;
  gather(tile, call, s);
  start(tile, call, s);
  const ChunkResult result = {s.chunk.data(), s.chunk_max.data(), s.chunk_sum.data()};
  for (int64_t chunk = tile.chunks.begin; chunk < tile.chunks.end; ++chunk) {
    attend_chunk(tile, chunk, call, result, s);
    merge(n, value_dim, result, s);
  }
  finish(tile, call, s);
}

// The thread that finishes the last chunk of a tile merges all of them, in order.
void CpuAttend::attend_piece(const Piece& piece, const Call& call, AttendScratch& s) {
  const Tile& tile = tiles_[static_cast<size_t>(piece.tile)];
  const int64_t n = tile.n_rows * call.group();
  const int64_t value_dim = call.params->value_dim;
  const auto result_of = [&](int64_t chunk) {
    float* const at = tile.results + (chunk - tile.chunks.begin) * n * (value_dim + 2);
    return ChunkResult{at, at + n * value_dim, at + n * (value_dim + 1)};
  };
  gather(tile, call, s);
  for (int64_t chunk = piece.chunks.begin; chunk < piece.chunks.end; ++chunk) {
    attend_chunk(tile, chunk, call, result_of(chunk), s);
  }
  const int64_t done = piece.chunks.end - piece.chunks.begin;
  if (chunks_left_[static_cast<size_t>(piece.tile)].fetch_sub(done) != done) return;
  start(tile, call, s);
  for (int64_t chunk = tile.chunks.begin; chunk < tile.chunks.end; ++chunk) {
    merge(n, value_dim, result_of(chunk), s);
  }
  finish(tile, call, s);
}

// Query row r of the tile is batch row `r / group`, head `r % group` of the key/value head.
float* CpuAttend::head_of(const Tile& tile, View view, const Call& call, int64_t r) const {
  const int64_t dim = view.n_cols / call.params->n_heads;
  return device_->numbers(view.row(tile.sequence->row_begin + tile.first_row + r / call.group())) +
         (tile.kv_head * call.group() + r % call.group()) * dim;
}

void CpuAttend::gather(const Tile& tile, const Call& call, AttendScratch& s) const {
  const int64_t key_dim = call.params->key_dim;
  const int64_t n_bytes = rounded_up(key_dim, kQueryFill);
  const bool rotates = rotates_keys(type_of(call));
  for (int64_t r = 0; r < tile.n_rows * call.group(); ++r) {
    float* const q = s.q.data() + r * key_dim;
    std::copy_n(head_of(tile, call.q, call, r), key_dim, q);
    if (!rotates) continue;
    rotate_head(q, key_dim);
    int8_t* const bytes = s.q_bytes.data() + r * n_bytes;
    std::fill_n(bytes + key_dim, n_bytes - key_dim, int8_t{0});
    const HeadQuant quant = kernels_->quantize_head(q, bytes, key_dim);
    s.q_scale[static_cast<size_t>(r)] = quant.scale * call.params->scale;
    s.q_sum[static_cast<size_t>(r)] = quant.sum;
  }
}

// A sink is a key that was seen before all others and has no value: exp(sink - sink) = 1.
void CpuAttend::start(const Tile& tile, const Call& call, AttendScratch& s) const {
  const int64_t group = call.group();
  const int64_t n = tile.n_rows * group;
  std::fill_n(s.total.begin(), n * call.params->value_dim, 0.0F);
  const Vector* const sinks = call.params->sinks;
  std::fill_n(s.sum.begin(), n, sinks == nullptr ? 0.0F : 1.0F);
  std::fill_n(s.max.begin(), n, kMasked);
  if (sinks == nullptr) return;
  const float* const of_heads = device_->numbers(sinks->memory.start) + tile.kv_head * group;
  for (int64_t r = 0; r < n; ++r) s.max[static_cast<size_t>(r)] = of_heads[r % group];
}

// With tiered pages, tiles do not cross the end of a group, so all their rows read a chunk in the
// same form.
const KvView& CpuAttend::view_of(const Tile& tile, int64_t chunk, int64_t layer) const {
  const int64_t own = (tile.sequence->first_position + tile.first_row) / kGroupTokens;
  return chunk < own ? pages_->settled(layer) : pages_->newest(layer);
}

void CpuAttend::attend_chunk(const Tile& tile, int64_t chunk, const Call& call,
                             const ChunkResult& result, AttendScratch& s) const {
  const AttendParams& params = *call.params;
  const int64_t begin = chunk * kChunkTokens;
  const int64_t unseen = tile.keys.begin - begin;
  const int64_t first = begin + std::max<int64_t>(0, unseen / kSkipTokens * kSkipTokens);
  const int64_t last = std::min(begin + kChunkTokens, tile.keys.end);
  const ChunkPages pages = {&view_of(tile, chunk, params.layer),
                            {first / kPageTokens, rounded_up(last, kPageTokens) / kPageTokens}};
  const int64_t n = tile.n_rows * call.group();
  find_pages(tile, pages, params.layer, s);
  score(n, pages, params, s);
  soften(tile, pages, call, result, s);
  sum_values(n, pages, params, result, s);
}

void CpuAttend::score(int64_t n, ChunkPages chunk, const AttendParams& params,
                      AttendScratch& s) const {
  const PageRun keys = {s.key_pages, chunk.pages.end - chunk.pages.begin, s.n_values_ahead};
  if (chunk.type() == KvType::f16) {
    kernels_->page_scores({.q = s.q.data(),
                           .q_stride = params.key_dim,
                           .keys = keys,
                           .scores = s.scores.data(),
                           .scores_stride = kChunkTokens,
                           .n_rows = n,
                           .head_dim = params.key_dim,
                           .scale = params.scale});
  } else if (chunk.type() == KvType::int8) {
    kernels_->byte_scores({.q = s.q_bytes.data(),
                           .q_stride = rounded_up(params.key_dim, kQueryFill),
                           .q_scale = s.q_scale.data(),
                           .q_sum = s.q_sum.data(),
                           .keys = keys,
                           .key_scale = s.key_scales,
                           .scores = s.scores.data(),
                           .scores_stride = kChunkTokens,
                           .n_rows = n,
                           .head_dim = params.key_dim});
  } else {
    kernels_->code_scores({.q = s.q_bytes.data(),
                           .q_stride = rounded_up(params.key_dim, kQueryFill),
                           .q_scale = s.q_scale.data(),
                           .q_sum = s.q_sum.data(),
                           .keys = keys,
                           .key_scale = s.key_scales,
                           .key_middle = s.key_middles,
                           .scores = s.scores.data(),
                           .scores_stride = kChunkTokens,
                           .n_rows = n,
                           .head_dim = params.key_dim,
                           .bits = code_bits(chunk.type())});
  }
}

void CpuAttend::sum_values(int64_t n, ChunkPages chunk, const AttendParams& params,
                           const ChunkResult& result, AttendScratch& s) const {
  const PageRun values = {s.value_pages, chunk.pages.end - chunk.pages.begin, s.n_keys_ahead};
  if (chunk.type() == KvType::f16) {
    kernels_->page_values({.weights = s.scores.data(),
                           .weights_stride = kChunkTokens,
                           .values = values,
                           .out = result.values,
                           .out_stride = params.value_dim,
                           .n_rows = n,
                           .head_dim = params.value_dim});
  } else if (chunk.type() == KvType::int8) {
    kernels_->byte_values({.weights = s.weights.data(),
                           .weights_stride = kChunkTokens,
                           .scale = s.weight_scale.data(),
                           .values = values,
                           .out = result.values,
                           .out_stride = params.value_dim,
                           .n_rows = n,
                           .head_dim = params.value_dim});
  } else {
    kernels_->code_values({.weights = s.weights.data(),
                           .weights_stride = kChunkTokens,
                           .scale = s.weight_scale.data(),
                           .offset = s.weight_offset.data(),
                           .values = values,
                           .out = result.values,
                           .out_stride = params.value_dim,
                           .n_rows = n,
                           .head_dim = params.value_dim,
                           .bits = code_bits(chunk.type())});
  }
}

// Addresses of the chunk's pages. After the keys come its first values, after the values the first
// keys of the next chunk.
void CpuAttend::find_pages(const Tile& tile, ChunkPages chunk, int64_t layer,
                           AttendScratch& s) const {
  const PageId* const ids = tile.sequence->pages.data();
  const Range pages = chunk.pages;
  const int64_t n = pages.end - pages.begin;
  const KvRegion& region = *chunk.view->region;
  for (int64_t i = 0; i < n; ++i) {
    const FrameId frame = chunk.view->frame(ids[pages.begin + i]);
    s.key_pages[i] = device_->pointer(region.keys(frame, chunk.view->layer, tile.kv_head));
    s.value_pages[i] = device_->pointer(region.values(frame, chunk.view->layer, tile.kv_head));
  }
  find_scales(tile, chunk, s);
  s.n_values_ahead = std::min(n, kAheadPages);
  std::copy_n(s.value_pages, s.n_values_ahead, s.key_pages + n);
  const int64_t n_seen = rounded_up(tile.keys.end, kPageTokens) / kPageTokens;
  s.n_keys_ahead = std::clamp<int64_t>(n_seen - pages.end, 0, kAheadPages);
  const KvView& next = view_of(tile, pages.end / kChunkPages, layer);
  for (int64_t i = 0; i < s.n_keys_ahead; ++i) {
    const FrameId frame = next.frame(ids[pages.end + i]);
    s.value_pages[n + i] = device_->pointer(next.region->keys(frame, next.layer, tile.kv_head));
    if (next.type() != KvType::f16) {
      const KvRegion& region_ahead = *next.region;
      for (const Address scales : {region_ahead.key_scales(frame, next.layer, tile.kv_head),
                                   region_ahead.value_scales(frame, next.layer, tile.kv_head)}) {
        __builtin_prefetch(device_->pointer(scales));
      }
    }
  }
}

void CpuAttend::find_scales(const Tile& tile, ChunkPages chunk, AttendScratch& s) const {
  const KvType type = chunk.type();
  if (type == KvType::f16) return;
  const auto half = static_cast<float>(1 << code_bits(type) >> 1);
  const KvView& view = *chunk.view;
  for (int64_t page = chunk.pages.begin; page < chunk.pages.end; ++page) {
    const FrameId frame = view.frame(tile.sequence->pages[static_cast<size_t>(page)]);
    const auto scales = [&](Address address) {
      return reinterpret_cast<const uint16_t*>(device_->pointer(address));
    };
    const uint16_t* const key = scales(view.region->key_scales(frame, view.layer, tile.kv_head));
    const uint16_t* const value =
        scales(view.region->value_scales(frame, view.layer, tile.kv_head));
    const int64_t at = (page - chunk.pages.begin) * kPageTokens;
    for (int64_t t = 0; t < kPageTokens; ++t) {
      s.key_scales[at + t] = f32_of_bf16(key[t]);
      s.value_scales[at + t] = f32_of_bf16(value[t]);
    }
    if (!is_tiered(type)) continue;
    for (int64_t t = 0; t < kPageTokens; ++t) {
      s.key_middles[at + t] = f32_of_bf16(key[kPageTokens + t]) + half * s.key_scales[at + t];
      s.value_lows[at + t] = f32_of_bf16(value[kPageTokens + t]);
    }
  }
}

// Softmax of each row over the keys of one chunk that it sees.
void CpuAttend::soften(const Tile& tile, ChunkPages chunk, const Call& call,
                       const ChunkResult& result, AttendScratch& s) const {
  const AttendParams& params = *call.params;
  const Range keys = {chunk.pages.begin * kPageTokens, chunk.pages.end * kPageTokens};
  const int64_t n_scores = keys.end - keys.begin;
  const int64_t group = call.group();
  for (int64_t r = 0; r < tile.n_rows * group; ++r) {
    float* const scores = s.scores.data() + r * kChunkTokens;
    const Range seen =
        visible_keys(*call.batch, *tile.sequence, tile.first_row + r / group, params);
    const int64_t first = std::clamp<int64_t>(seen.begin - keys.begin, 0, n_scores);
    const int64_t last = std::clamp<int64_t>(seen.end - keys.begin, 0, n_scores);
    const int64_t n = rounded_up(last, kPageTokens);
    if (params.softcap > 0) kernels_->softcap(scores, n, params.softcap);
    if (!params.alibi.slopes.empty()) {
      const int64_t position = tile.sequence->first_position + tile.first_row + r / group;
      add_alibi(params.alibi, tile.kv_head * group + r % group, position, keys.begin, scores, n);
    }
    if (!params.distances.columns.empty()) {
      add_distances(tile, r, {keys.begin + first, keys.begin + last}, call, scores + first);
    }
    if (params.chosen.n_cols > 0) {
      hide_unchosen(tile, r, {keys.begin + first, keys.begin + last}, call, scores + first);
    }
    std::fill(scores, scores + first, kMasked);
    std::fill(scores + last, scores + n, kMasked);
    const float max = kernels_->largest(scores, n);
    // A row that sees no key of the chunk gets zeros here and is not merged.
    const float from = max == kMasked ? 0.0F : max;
    result.max[r] = max;
    if (chunk.type() != KvType::f16) {
      result.sum[r] = weigh(r, n_scores, {first, last}, from, chunk.type(), s);
    } else {
      std::fill(scores + n, scores + n_scores, 0.0F);
      result.sum[r] = kernels_->exp_sum(scores, n, from);
    }
  }
}

// Adds to the scores of row r, which are those of these keys, what their distances have.
void CpuAttend::add_distances(const Tile& tile, int64_t r, Range keys, const Call& call,
                              float* scores) const {
  const DistanceScores& d = call.params->distances;
  const int64_t head = tile.kv_head * call.group() + r % call.group();
  const int64_t row = tile.first_row + r / call.group();
  const int64_t first_row = tile.sequence->row_begin;
  const float* const table = d.table == nullptr ? nullptr : device_->numbers(d.table->memory.start);
  const float* const of_query = row_of(*device_, d.of_query, first_row + row);
  const int64_t reach = std::ssize(d.columns) / 2;
  for (int64_t key = keys.begin; key < keys.end; ++key) {
    const int64_t key_row = key - tile.sequence->first_position;
    const int64_t distance = std::clamp(row - key_row, -reach, reach);
    const int64_t at = head * d.n_columns + d.columns[static_cast<size_t>(distance + reach)];
    float products = of_query == nullptr ? 0.0F : of_query[at];
    if (d.of_key.n_rows > 0) products += row_of(*device_, d.of_key, first_row + key_row)[at];
    const float number = table == nullptr ? 0.0F : table[at];
    scores[key - keys.begin] += number + d.scale * products;
  }
}

// Masks the scores of row r, which are those of these keys, where a key is not chosen. A row that
// sees no more keys than can be chosen reads them all.
void CpuAttend::hide_unchosen(const Tile& tile, int64_t r, Range keys, const Call& call,
                              float* scores) const {
  const View& chosen = call.params->chosen;
  const int64_t row = tile.first_row + r / call.group();
  if (tile.sequence->first_position + row < chosen.n_cols) return;
  const float* at = row_of(*device_, chosen, tile.sequence->row_begin + row);
  const float* const end = at + chosen.n_cols;
  at = std::lower_bound(at, end, static_cast<float>(keys.begin));
  for (int64_t key = keys.begin; key < keys.end; ++key) {
    if (at != end && *at == static_cast<float>(key)) {
      ++at;
    } else {
      scores[key - keys.begin] = kMasked;
    }
  }
}

// Turns the scores of row r into weights of integer values. Their scale comes from the values that
// the row sees and no others: what follows them must not matter.
float CpuAttend::weigh(int64_t r, int64_t n_scores, Range seen, float max, KvType type,
                       AttendScratch& s) const {
  const int64_t n = rounded_up(seen.end, kPageTokens);
  const float* scales = s.value_scales;
  if (seen.begin > 0 || seen.end < n) {
    std::fill_n(s.seen_scales, seen.begin, 0.0F);
    std::copy(scales + seen.begin, scales + seen.end, s.seen_scales + seen.begin);
    std::fill(s.seen_scales + seen.end, s.seen_scales + n, 0.0F);
    scales = s.seen_scales;
  }
  const float most = std::max(0.0F, kernels_->largest(scales, n));
  const float unit = most > kLeastScale ? kFullWeight / most : 0.0F;
  int16_t* const weights = s.weights.data() + r * kChunkTokens;
  s.weight_scale[static_cast<size_t>(r)] = most / kFullWeight;
  std::fill(weights + n, weights + n_scores, int16_t{0});
  const float* const scores = s.scores.data() + r * kChunkTokens;
  if (!is_tiered(type)) return kernels_->byte_weights(scores, scales, weights, n, max, unit);
  const CodeWeights sums =
      kernels_->code_weights(scores, scales, s.value_lows, weights, n, max, unit);
  s.weight_offset[static_cast<size_t>(r)] = sums.offset;
  return sums.sum;
}

void CpuAttend::merge(int64_t n, int64_t value_dim, const ChunkResult& chunk,
                      AttendScratch& s) const {
  // The side of a row with the larger maximum is weighed by exp(0).
  for (int64_t r = 0; r < n; ++r) {
    const auto at = static_cast<size_t>(r);
    const float max = std::max(s.max[at], chunk.max[r]);
    const float base = max == kMasked ? 0.0F : max;
    s.old_weight[at] = s.max[at] - base;
    s.chunk_weight[at] = chunk.max[r] - base;
    s.max[at] = max;
  }
  const int64_t n_filled = rounded_up(n, kPageTokens);
  std::fill(s.old_weight.begin() + n, s.old_weight.begin() + n_filled, 0.0F);
  std::fill(s.chunk_weight.begin() + n, s.chunk_weight.begin() + n_filled, 0.0F);
  kernels_->exp_sum(s.old_weight.data(), n_filled, 0);
  kernels_->exp_sum(s.chunk_weight.data(), n_filled, 0);
  for (int64_t r = 0; r < n; ++r) {
    const auto at = static_cast<size_t>(r);
    if (chunk.max[r] == kMasked) continue;
    const float old = s.old_weight[at];
    const float fresh = s.chunk_weight[at];
    kernels_->blend(s.total.data() + r * value_dim, chunk.values + r * value_dim, value_dim, old,
                    fresh);
    s.sum[at] = s.sum[at] * old + chunk.sum[r] * fresh;
  }
}

void CpuAttend::finish(const Tile& tile, const Call& call, const AttendScratch& s) const {
  const int64_t value_dim = call.params->value_dim;
  for (int64_t r = 0; r < tile.n_rows * call.group(); ++r) {
    const float scale = 1.0F / s.sum[static_cast<size_t>(r)];
    float* const to = head_of(tile, call.out, call, r);
    const float* const total = s.total.data() + r * value_dim;
    for (int64_t d = 0; d < value_dim; ++d) to[d] = total[d] * scale;
  }
}

}  // namespace ruv
