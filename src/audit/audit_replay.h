// AuditReplay: asks an engine for an answer of a log again, and compares the bytes.
//
// An answer follows from the model's and the adapters' files, the type of keys and values, the
// prompt, the options and the seed. All are in an entry, or, where contents were not kept, their
// digests; so a replay shows that the answer in the log is the one that this model gives.
#pragma once

#include <map>

#include "audit/audit_store.h"
#include "base/worker_pool.h"

namespace ruv {

enum class ReplayResult : uint8_t {
  same,       // the same bytes
  different,  // other bytes: something is not what the entry says
  not_run,    // what it needs is not here, or its bytes depend on the time
};

struct Replay {
  int64_t entry = 0;
  ReplayResult result = ReplayResult::not_run;
  std::string why = {};  // unless it is the same
};

// What an entry needs to be run again.
struct ReplayEntry {
  int64_t number = 0;
  std::string kv_type;
  int64_t n_ctx = 0;
  bool is_portable = true;
};
// Fails: not_found, corrupt, invalid (no answer, but a note of the log's own).
Result<ReplayEntry> replay_entry(const AuditStore& store, int64_t number);

class AuditReplay {
 public:
  // `model_digest`: of the model's files (files_digest). Engine and store must outlive this.
  AuditReplay(const AuditStore& store, Engine& engine, std::shared_ptr<const Model> model,
              std::string model_digest)
      : store_(store),
        engine_(engine),
        model_(std::move(model)),
        model_digest_(std::move(model_digest)) {}

  // Runs one entry and waits. `prompt`: ids, where the log does not have them; they must have the
  // entry's digest, for which `key` is needed. Fails: not_found, corrupt, as Engine::stream.
  Result<Replay> run(int64_t entry, const std::vector<Token>* prompt = nullptr,
                     const AuditKey* key = nullptr);

 private:
  struct Wanted;
  Result<std::optional<std::string>> prepare(const Json& body, Wanted& wanted);
  Result<std::optional<std::string>> take_contents(const Json& body, Wanted& wanted,
                                                   const std::vector<Token>* prompt,
                                                   const AuditKey* key);
  Result<std::optional<std::string>> take_adapters(const Json& body, Request& request);
  Result<Replay> compare(int64_t entry, Wanted wanted);

  const AuditStore& store_;
  Engine& engine_;
  std::shared_ptr<const Model> model_;
  std::string model_digest_;
  WorkerPool pool_{1};
  std::map<std::string, std::shared_ptr<const LoadedAdapter>> adapters_;  // by digest
};

}  // namespace ruv
