#include "engine/step_tokens.h"

#include <algorithm>

#include "model/model.h"
#include "ruv/engine.h"

namespace ruv {

int64_t step_tokens_for(const Model& model, int64_t n_ctx) {
  constexpr int64_t kMost = 8192;  // activations of more rows take too much memory
  const int64_t usual = EngineOptions{}.max_batch_tokens;
  if (!model.h.bidirectional && !model.h.reads_source()) return usual;
  return std::clamp(n_ctx == 0 ? model.h.n_ctx_train : n_ctx, usual, kMost);
}

}  // namespace ruv
