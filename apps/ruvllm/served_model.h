// A model of `ruvllm serve`: what --model and --models-dir name, and how it gets into memory.
#pragma once

#include <string>
#include <vector>

#include "audit/audit_log.h"
#include "command_line.h"
#include "learn_flags.h"
#include "lora_flag.h"
#include "net/models/model_pool.h"
#include "open_model.h"
#include "ruv/engine.h"

namespace ruv {

// What all models of a server have in common.
struct ServedModelCall {
  const CommandLine& line;
  LoadCall load = {};
  EngineOptions engine = {};
  GenerateParams sampling = {};
  ServedAdapters adapters = {};
  LearnCall learn = {};       // its folder is empty: nothing is learned
  AuditLog* audit = nullptr;  // null: there is none
};

// A model that was named on the command line.
struct NamedModel {
  ChosenModel chosen;
  std::string name = {};  // given in front of the path, or by --alias; empty: none
};

// "NAME=MODEL" or "MODEL", a path or name as of meant_model; a path that exists is one, whatever is
// in it. Fails: as meant_model and located.
Result<NamedModel> named_model(const std::string& text);
// The models of a folder: files *.gguf, of a file in parts the first, and folders with a
// config.json; by name. Fails: not_found, invalid.
Result<std::vector<NamedModel>> models_in(const std::string& folder);

// The only model of a server: its file is read when it is loaded.
ModelSource only_source(const ServedModelCall& call, const ServerParts& parts,
                        const NamedModel& model);
// One of several. Reads what the file says of itself, but no weights. `parts` and `call` must
// outlive the source; `is_first`: pages on disk are in the cache folder itself, those of other
// models in folders below. Fails: as examine_model and Engine::kv_bytes.
Result<ModelSource> model_source(const ServedModelCall& call, const ServerParts& parts,
                                 const NamedModel& model, bool is_first);

}  // namespace ruv
