// ToolLoop: asks a model, runs the tools that its answer calls, gives it their results and asks
// again, until an answer calls nothing.
//
//   ToolRegistry registry(check_maker);
//   TRY(registry.set_tools("tools.json", TRY(open_command_tools("tools.json"))));
//   const ToolLoop loop(registry, {.max_rounds = 8});
//   const ToolLoopOutcome outcome = TRY(loop.run(model, {.may_run = ask_a_person}, &cancellation));
//
// What is wrong with a call is its result, so the model can correct it in the next round. A loop
// keeps no conversation and knows no model: both are the caller's LoopModel.
#pragma once

#include <functional>
#include <vector>

#include "tools/executor.h"

namespace ruv {

// A model in a conversation.
class LoopModel {
 public:
  virtual ~LoopModel() = default;
  // Answers the conversation so far, adds the answer to it, and returns the calls in it. `round`
  // counts from 0. An answer that was cancelled has no calls. Fails: as the model; the loop ends.
  virtual Result<std::vector<ToolRequest>> answer(int round, const Cancellation* cancellation) = 0;
  // Adds the results of the last answer's calls, in their order.
  virtual void take_results(const std::vector<ToolResult>& results) = 0;
};

// How a loop meets people. Any may be null.
struct ToolLoopWatch {
  // Before a round's calls run, each in turn; on the thread of run(), as the next.
  std::function<void(const ToolRequest&)> on_call = {};
  // Whether a call may run whose tool needs consent; asked right after on_call, where the tool
  // exists and the arguments are right. Null: it may not.
  std::function<bool(const ToolRequest&, const RegisteredTool&)> may_run = {};
  // Each result when it is there, one at a time, on any thread.
  std::function<void(const ToolResult&)> on_result = {};
};

struct ToolLoopOptions {
  // Answers whose calls run. The calls of the last one run, too, but nothing follows them.
  int max_rounds = 8;
  // Calls of one answer that run; those beyond get an error.
  size_t max_calls = 32;
  ToolExecutorOptions executor = {};
};

enum class ToolLoopEnd : uint8_t {
  answered,   // the last answer has no calls
  cancelled,  // perhaps after results that say so
  rounds,     // the model did not stop calling; the results of the last calls are there
};

struct ToolLoopOutcome {
  ToolLoopEnd end = ToolLoopEnd::answered;
  int n_rounds = 0;  // answers with calls
  int n_calls = 0;
  int n_failed = 0;  // of these, results that are errors
};

class ToolLoop {
 public:
  // The registry must live longer.
  explicit ToolLoop(const ToolRegistry& registry, ToolLoopOptions options = {})
      : registry_(registry), options_(options), executor_(registry, options.executor) {}

  // Fails: as LoopModel::answer. Thread safety: any number of runs at once, each with a model of
  // its own.
  Result<ToolLoopOutcome> run(LoopModel& model, const ToolLoopWatch& watch = {},
                              const Cancellation* cancellation = nullptr) const;

 private:
  std::vector<ToolResult> run_calls(const std::vector<ToolRequest>& calls,
                                    const ToolLoopWatch& watch,
                                    const Cancellation* cancellation) const;
  Status permission(const ToolRequest& call, const ToolLoopWatch& watch) const;

  const ToolRegistry& registry_;
  ToolLoopOptions options_;
  ToolExecutor executor_;
};

}  // namespace ruv
