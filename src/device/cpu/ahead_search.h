// Which ReadAhead is fastest on this machine, by trying it on packed weights in memory.
#pragma once

#include <span>
#include <vector>

#include "base/clock.h"
#include "base/worker_pool.h"
#include "kernels/kernels.h"

namespace ruv {

// Slices of packed matrices of one format and shape, equal in size and each long enough to be
// timed.
struct AheadSamples {
  const GemmKernel* kernel = nullptr;
  int64_t k = 0;
  int64_t n_groups = 0;  // of a slice
  std::vector<const std::byte*> slices = {};
};

// A packed matrix in memory.
struct PackedGroups {
  const GemmKernel* kernel = nullptr;
  int64_t k = 0;
  int64_t n_groups = 0;
  const std::byte* groups = nullptr;
};

// Samples of each format of which there are min_bytes: of the k with the most bytes.
std::vector<AheadSamples> ahead_samples(std::span<const PackedGroups> matrices, int64_t min_bytes,
                                        int n_threads);

// One row is multiplied by slice after slice on all threads, the distances by turns. The kernel's
// own distance is kept unless another is faster by 5 % in the median of neighbouring trials, and
// still by 4 % when both are tried again. Time: some 400 slices are read, for at most 0.4 s.
// Requires: slices that together are far larger than caches, or what is measured are these.
int64_t search_ahead(const AheadSamples& samples, WorkerPool& pool, const Clock& clock);

}  // namespace ruv
