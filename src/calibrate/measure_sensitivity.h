// measure_sensitivity: how far a model's next-token distribution moves when the products of one
// tensor are noisy. Quantising adds such noise, whose size is known for each format; the two
// together say where bits are needed (format/quant_budget.h).
#pragma once

#include "calibrate/measure_importance.h"

namespace ruv {

struct SensitivityOptions {
  int n_threads = 0;  // 0: one per core
  // Called before each tensor; false: stop with Code::cancelled.
  std::function<bool(int64_t n_done, int64_t n)> on_tensor = {};
};

// Noise whose mean square is this part of the product's own. Larger values are measured more
// exactly, and are further from the noise of formats that are worth having.
inline constexpr double kNoiseShare = 0.02;

// Sets the sensitivity of each entry: KL(model || model with noise) of the next token on the
// chunks, in nats a token, over kNoiseShare. Every chunk is run once for each tensor. Memory: up to
// 128 MB of logits. Fails: unsupported (an encoder), cancelled, and as compute_logits.
Status measure_sensitivity(const WatchedModel& watched, std::span<const std::vector<Token>> chunks,
                           const SensitivityOptions& options, Importance& importance);

}  // namespace ruv
