// Log-probabilities of the tokens that rows should give, and their derivatives: what losses of
// preferences and of policies are made of.
#pragma once

#include <span>
#include <vector>

#include "base/worker_pool.h"
#include "train/token_loss.h"

namespace ruv {

// ln softmax(logits)[token] of each row; 0 of rows without a target. Requires: a token for each
// row, below the number of columns.
template <class T>
std::vector<double> target_log_probs(const Adjoined<T>& logits, std::span<const int32_t> tokens,
                                     WorkerPool& pool);

// Adds factor · d ln softmax(logits)[token] to the adjoints of each row that has a target and a
// factor other than 0. Requires: as target_log_probs, and adjoints.
template <class T>
void add_log_prob_gradient(const Adjoined<T>& logits, std::span<const int32_t> tokens,
                           std::span<const double> factors, WorkerPool& pool);

}  // namespace ruv
