// The loss of a step: cross entropy of the next tokens. Other losses give other adjoints of the
// same logits.
#pragma once

#include "base/worker_pool.h"
#include "train/train_memory.h"

namespace ruv {

// Rows of logits without a target.
inline constexpr int32_t kNoTarget = -1;

// Σ over rows with a target of -ln softmax(logits)[target]. Where the logits have adjoints, adds
// `scale` times its derivative to them. Requires: a target for each row, below the number of
// columns.
template <class T>
double cross_entropy(const Adjoined<T>& logits, std::span<const int32_t> targets, double scale,
                     WorkerPool& pool);

}  // namespace ruv
