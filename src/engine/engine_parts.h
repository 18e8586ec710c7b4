// EngineParts: what an engine is put together from, and the sizes it gets on this machine.
#pragma once

#include <memory>

#include "cache/page_store.h"
#include "engine/executor.h"
#include "engine/speculate/draft_model.h"
#include "ruv/engine.h"

namespace ruv {

struct EngineParts {
  std::unique_ptr<Executor> executor;
  std::unique_ptr<PageStore> store = nullptr;         // of the model's pages on disk; null: none
  std::unique_ptr<DraftModel> draft_model = nullptr;  // that guesses ahead; null: none
  // Of the hash tables that guesses are found in. Nobody outside may know it, or texts could be
  // made that all collide; with equal ones two engines do the same.
  uint64_t guess_seed = 0;
};

// With sizes in place of zeros, chosen by the model and this machine's memory. Fails: invalid, and
// unsupported for a type of pages without a verdict that lets it pass.
Result<EngineOptions> complete_options(EngineOptions options, const Model& model);

// Of complete options. `model` and the draft model outlive the parts. Fails: out_of_memory, and as
// opening the disk's pages and the draft model do.
Result<EngineParts> make_parts(const Model& model, const EngineOptions& complete);

}  // namespace ruv
