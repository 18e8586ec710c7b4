// EngineParts: the parts that an engine is built from, and the sizes chosen for this machine.
#pragma once

#include <memory>

#include "cache/page_store.h"
#include "engine/executor.h"
#include "engine/speculate/draft_model.h"
#include "ruv/engine.h"

namespace ruv {

struct EngineParts {
  std::unique_ptr<Executor> executor;
  std::unique_ptr<PageStore> store = nullptr;         // the model's pages on disk; null: none
  std::unique_ptr<DraftModel> draft_model = nullptr;  // drafts tokens; null: none
  // Secret seed of the draft hash tables; a client that knew it could construct collisions. Equal
  // seeds make two engines behave identically.
  uint64_t guess_seed = 0;
};

// Replaces zeros by sizes suited to the model and to this machine's memory. Fails: invalid;
// unsupported for a KV type without a verdict that allows it.
Result<EngineOptions> complete_options(EngineOptions options, const Model& model);

// How many checkpoints of running states cached prefixes get: four for each sequence that may run.
// Where states are large fewer, which take as much memory as the keys and values of kept_tokens,
// but one for each sequence, so that its text can be resumed at its end.
int64_t checkpoints_for(const CacheLayout& layout, int64_t n_sequences, int64_t kept_tokens);

// What the layers of `pages` keep, for the label of files: "28 layers, 8 heads of 128". Which layer
// keeps what follows from the model.
std::string layers_text(const KvPages& pages);

// Memory of the pages that make_parts allocates for complete options, without a draft model's.
int64_t kv_bytes_for(const Model& model, const EngineOptions& complete);

// Builds the parts for complete options. `model` and the draft model must outlive them. Fails:
// out_of_memory, and as opening the disk's pages and the draft model do.
Result<EngineParts> make_parts(const Model& model, const EngineOptions& complete);

}  // namespace ruv
