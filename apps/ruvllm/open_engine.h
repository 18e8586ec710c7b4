// The engine of a subcommand that holds one conversation at a time.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cache_folder.h"
#include "command_line.h"
#include "ruv/engine.h"

namespace ruv {

// The flags that describe the engine.
struct EngineCall {
  // Threads that compute; 0: one per core.
  int n_threads = 0;
  // Tokens of the longest prompt and answer together; 0: what the model was trained for.
  int64_t n_ctx = 0;
  // Absent: the model's default, int8 or f16.
  std::optional<KvType> kv_type = {};
  // Answers at the same time.
  int64_t max_sequences = 1;
  CacheFolder cache = {};
  std::shared_ptr<const Model> draft_model = {};  // null: none
  std::vector<std::string> lora = {};             // as --lora has them (lora_flag.h)
};

// `path` is where the model was loaded from: its verdict on int4 and int2 is beside it. Fails: as
// keep_on_disk, open_adapters and Engine::create.
Result<std::unique_ptr<Engine>> open_engine(const CommandLine& line, const std::string& path,
                                            std::shared_ptr<const Model> model,
                                            const EngineCall& call);

}  // namespace ruv
