#include "device/cpu/cpu_choose.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "device/cpu/attend_scratch.h"

namespace ruv {
namespace {

constexpr int64_t chunks_for(int64_t n_tokens) {
  return (n_tokens + kChunkTokens - 1) / kChunkTokens;
}

// Ascends as the score falls; zeros of both signs are equal, and a score that is no number is last.
uint32_t rank_of(float score) {
  if (std::isnan(score)) return ~uint32_t{0};
  const auto bits = std::bit_cast<uint32_t>(score == 0 ? 0.0F : score);
  constexpr uint32_t kSign = 0x80000000;
  return (bits & kSign) != 0 ? bits : ~(bits | kSign);
}

// Positions of the n smallest ranks, ascending. Changes the order of the ranks.
void take_best(uint64_t* ranks, int64_t n_keys, float* chosen, int64_t n) {
  std::nth_element(ranks, ranks + n, ranks + n_keys);
  for (int64_t i = 0; i < n; ++i) chosen[i] = static_cast<float>(ranks[i] & ~uint32_t{0});
  std::sort(chosen, chosen + n);
}

}  // namespace

Result<std::unique_ptr<CpuChoose>> CpuChoose::create(const Kernels& kernels, WorkerPool& pool,
                                                     const KvPages& pages,
                                                     const OpsLimits& limits) {
  std::unique_ptr<CpuChoose> choose(new CpuChoose(kernels, pool, pages));
  if (limits.max_index_heads == 0) return choose;
  choose->rows_.reserve(static_cast<size_t>(limits.max_rows));
  const int64_t n_tokens = pages.n_pages() * kPageTokens;
  for (int i = 0; i < pool.n_threads(); ++i) {
    choose->scores_.push_back(
        TRY(Buffer::allocate(limits.max_index_heads * kChunkTokens * int64_t{sizeof(float)})));
    // Touched as far as sequences are long; the system commits it then.
    choose->ranks_.push_back(TRY(Buffer::allocate(n_tokens * int64_t{sizeof(uint64_t)})));
  }
  return choose;
}

void CpuChoose::run(const Batch& batch, View chosen, View q, View weights,
                    const ChooseParams& params) {
  rows_.clear();
  for (const BatchSequence& sequence : batch.sequences) {
    // Rows before see no more keys than are chosen, and read all of them.
    const int64_t begin =
        std::clamp<int64_t>(chosen.n_cols - sequence.first_position, 0, sequence.n_rows);
    for (int64_t i = begin; i < sequence.n_rows; ++i) {
      const int64_t at = sequence.row_begin + i;
      rows_.push_back({device_->numbers(q.row(at)), device_->numbers(weights.row(at)), &sequence,
                       sequence.first_position + i + 1, device_->numbers(chosen.row(at))});
    }
  }
  const int64_t n_chosen = chosen.n_cols;
  if (std::ssize(rows_) >= pool_->n_threads()) {
    pool_->run_items(std::ssize(rows_), [&](int thread, int64_t i) {
      const IndexedRow& row = rows_[static_cast<size_t>(i)];
      auto* const ranks = ranks_[static_cast<size_t>(thread)].as<uint64_t>();
      for (int64_t chunk = 0; chunk < chunks_for(row.n_keys); ++chunk) {
        rank_chunk(row, chunk, params, thread, ranks);
      }
      take_best(ranks, row.n_keys, row.chosen, n_chosen);
    });
    return;
  }
  auto* const ranks = ranks_.front().as<uint64_t>();
  for (const IndexedRow& row : rows_) {
    pool_->run_items(chunks_for(row.n_keys), [&](int thread, int64_t chunk) {
      rank_chunk(row, chunk, params, thread, ranks);
    });
    take_best(ranks, row.n_keys, row.chosen, n_chosen);
  }
}

void CpuChoose::rank_chunk(const IndexedRow& row, int64_t chunk, const ChooseParams& params,
                           int thread, uint64_t* ranks) const {
  const KvView& view = pages_->settled(params.layer);
  const int64_t begin = chunk * kChunkTokens;
  const int64_t n = std::min(kChunkTokens, row.n_keys - begin);
  const void* keys[kChunkPages];
  const int64_t n_pages = pages_for(n);
  for (int64_t i = 0; i < n_pages; ++i) {
    const auto page = static_cast<size_t>(begin / kPageTokens + i);
    const FrameId frame = view.frame(row.sequence->pages[page]);
    keys[i] = device_->pointer(view.region->keys(frame, view.layer, 0));
  }
  auto* const scores = scores_[static_cast<size_t>(thread)].as<float>();
  kernels_->page_scores({.q = row.q,
                         .q_stride = params.head_dim,
                         .keys = {keys, n_pages, 0},
                         .scores = scores,
                         .scores_stride = kChunkTokens,
                         .n_rows = params.n_heads,
                         .head_dim = params.head_dim,
                         .scale = 1.0F});
  float sums[kChunkTokens] = {};
  for (int64_t head = 0; head < params.n_heads; ++head) {
    const float weight = row.weights[head];
    const float* const of_head = scores + head * kChunkTokens;
    for (int64_t t = 0; t < n; ++t) sums[t] += weight * std::max(0.0F, of_head[t]);
  }
  for (int64_t t = 0; t < n; ++t) {
    ranks[begin + t] = uint64_t{rank_of(sums[t])} << 32 | static_cast<uint64_t>(begin + t);
  }
}

}  // namespace ruv
