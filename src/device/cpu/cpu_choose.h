// CpuChoose: the keys that attention reads of those a row sees, by the scores of an index
// (Ops::choose_keys). A row's scores are computed chunk by chunk, each as attention computes it,
// and the best are taken in an order without equals: by score, then by position. So the choice of a
// row depends on nothing but the tokens before it.
//
// Cost of a row: n_heads · head_dim multiplications for each key that it sees, one selection and
// one sort of what is chosen.
#pragma once

#include <memory>
#include <vector>

#include "base/buffer.h"
#include "base/worker_pool.h"
#include "device/cpu/cpu_device.h"
#include "device/kv_pages.h"
#include "device/ops.h"

namespace ruv {

class CpuChoose {
 public:
  // All must outlive it. Fails: out_of_memory.
  static Result<std::unique_ptr<CpuChoose>> create(const Kernels& kernels, WorkerPool& pool,
                                                   const KvPages& pages, const OpsLimits& limits);

  void run(const Batch& batch, View chosen, View q, View weights, const ChooseParams& params);

 private:
  // One row: its query heads, their weights, the sequence's pages, the keys that it sees, and where
  // its choice goes.
  struct IndexedRow {
    const float* q;
    const float* weights;
    const BatchSequence* sequence;
    int64_t n_keys;
    float* chosen;
  };

  CpuChoose(const Kernels& kernels, WorkerPool& pool, const KvPages& pages)
      : kernels_(&kernels),
        pool_(&pool),
        device_(&static_cast<const CpuDevice&>(pages.device())),
        pages_(&pages) {}

  // The ranks of one chunk's keys, smaller ones first chosen, to ranks[position].
  void rank_chunk(const IndexedRow& row, int64_t chunk, const ChooseParams& params, int thread,
                  uint64_t* ranks) const;

  const Kernels* kernels_;
  WorkerPool* pool_;
  const CpuDevice* device_;
  const KvPages* pages_;
  std::vector<IndexedRow> rows_;  // of the step, those that see more keys than are chosen
  std::vector<Buffer> scores_;    // per thread: (max_index_heads, kChunkTokens)
  std::vector<Buffer> ranks_;     // per thread: of all tokens that the pages have room for
};

}  // namespace ruv
