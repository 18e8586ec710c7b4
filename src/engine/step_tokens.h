// EngineOptions::max_batch_tokens for a model that is opened without the user saying it.
#pragma once

#include <cstdint>

#include "ruv/model.h"

namespace ruv {

// The usual number, but for encoders, which compute a text in one step, whatever its length.
// `n_ctx`: 0 for what the model was trained for.
int64_t step_tokens_for(const Model& model, int64_t n_ctx);

}  // namespace ruv
