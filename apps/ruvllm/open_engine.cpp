#include "open_engine.h"

#include <algorithm>

#include "model/model.h"
#include "open_model.h"

namespace ruv {

int64_t step_tokens_for(const Model& model, int64_t n_ctx) {
  constexpr int64_t kMost = 8192;  // activations of more rows take too much memory
  const int64_t usual = EngineOptions{}.max_batch_tokens;
  if (!model.h.bidirectional && !model.h.reads_source()) return usual;
  return std::clamp(n_ctx == 0 ? model.h.n_ctx_train : n_ctx, usual, kMost);
}

Result<std::unique_ptr<Engine>> open_engine(const CommandLine& line, const std::string& path,
                                            std::shared_ptr<const Model> model,
                                            const EngineCall& call) {
  EngineOptions options;
  options.n_threads = call.n_threads;
  options.n_ctx = call.n_ctx;
  options.max_batch_tokens = step_tokens_for(*model, call.n_ctx);
  options.kv.type = call.kv_type;
  options.kv.gate_file = gate_file_of(path);
  options.max_sequences = call.max_sequences;
  options.draft_model = call.draft_model;
  TRY(keep_on_disk(line, call.cache, options.kv));
  return Engine::create(std::move(model), options);
}

}  // namespace ruv
