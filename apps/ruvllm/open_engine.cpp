#include "open_engine.h"

#include "engine/step_tokens.h"
#include "lora_flag.h"
#include "open_model.h"
#include "terminal.h"

namespace ruv {

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
  options.adapters = TRY(open_adapters(call.lora, model, call.n_threads));
  TRY(keep_on_disk(line, call.cache, options.kv));
  std::unique_ptr<Engine> engine = TRY(Engine::create(std::move(model), options));
  if (is_verbose()) {
    const KvCacheStats stats = engine->kv_stats();
    line.note(fmt::format("context {} tokens, keys and values in {}, which take {}",
                          engine->n_ctx(), kv_type_name(stats.type),
                          readable_bytes(stats.memory_bytes)));
  }
  return engine;
}

}  // namespace ruv
