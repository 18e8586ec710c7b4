// ToolExecutor: runs what a model asked for, several calls at once, and turns every outcome into a
// text for the model.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "tools/registry.h"

namespace ruv {

// One call as the model wrote it.
struct ToolRequest {
  std::string id;  // repeated in the result
  std::string name;
  std::string arguments;  // JSON; not checked yet
};

struct ToolResult {
  std::string id;
  std::string name;
  std::string text;       // UTF-8, at most about the limit of ToolExecutorOptions
  bool is_error = false;  // the text says what is wrong
  // No tool ran, as the arguments or the name were wrong: another try may help.
  bool is_refused = false;
  int64_t duration_us = 0;
};

struct ToolExecutorOptions {
  // Calls that run at the same time, the caller's thread included; 1: one after the other.
  int max_parallel = 4;
  // Text of one result, and of all results of one run() together, in bytes.
  size_t max_result_bytes = 64 << 10;
  size_t max_total_bytes = 256 << 10;
  // From the start of a call.
  int64_t timeout_ms = 120'000;
};

class ToolExecutor {
 public:
  // The registry must live longer.
  explicit ToolExecutor(const ToolRegistry& registry, ToolExecutorOptions options = {})
      : registry_(registry), options_(options) {}

  // Runs all calls, as many at once as the options allow, and returns their results in the order of
  // the calls. After a cancellation the calls that have not ended give an error. `on_result`, when
  // set, sees each result when it is there, one at a time, on any thread. Thread safety: any number
  // of runs at once.
  std::vector<ToolResult> run(std::span<const ToolRequest> calls,
                              const Cancellation* cancellation = nullptr,
                              const std::function<void(const ToolResult&)>& on_result = {}) const;

 private:
  ToolResult run_one(const ToolRequest& call, const Cancellation* cancellation,
                     size_t max_bytes) const;

  const ToolRegistry& registry_;
  ToolExecutorOptions options_;
};

}  // namespace ruv
