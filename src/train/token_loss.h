// The loss of a step: cross entropy of the next tokens. Other losses give other adjoints of the
// same logits.
#pragma once

#include "base/worker_pool.h"
#include "train/train_memory.h"

namespace ruv {

// Rows of logits without a target.
inline constexpr int32_t kNoTarget = -1;

// What the rows of logits should give.
struct RowTargets {
  std::span<const int32_t> tokens;      // by row
  std::span<const float> weights = {};  // of their losses; empty: 1 for all
};

// Σ over rows with a target of -weight · ln softmax(logits)[target]. Where the logits have
// adjoints, adds `scale` times its derivative to them. Requires: a target for each row, below the
// number of columns, and as many weights, or none.
template <class T>
double cross_entropy(const Adjoined<T>& logits, const RowTargets& targets, double scale,
                     WorkerPool& pool);

}  // namespace ruv
