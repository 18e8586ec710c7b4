// `ruvllm audit replay`: the model of an audit log's entries, opened as it was then, and its
// answers compared.
#pragma once

#include <string>
#include <vector>

#include "audit/audit_store.h"
#include "command_line.h"
#include "open_model.h"

namespace ruv {

// The model and what is missing in the log.
struct RerunCall {
  std::string model;
  LoadCall load;
  int n_threads = 0;
  std::string prompt_file;  // a list of ids as JSON; empty: the log has the prompt
  std::string key_file;     // empty: in the log's folder
  bool json = false;
};
// --model, --threads, --prompt-ids and how models are loaded.
void add_rerun_flags(CommandLine& line, RerunCall& call);

// Runs the entries and prints a line for each. The exit code: kDone where all are the same. Fails:
// as open_model, Engine::create, AuditReplay::run.
Result<int> rerun_entries(const AuditStore& store, const std::string& folder,
                          const std::vector<int64_t>& numbers, const RerunCall& call);

}  // namespace ruv
