#include "tools/tool_loop.h"

#include <algorithm>

namespace ruv {
namespace {

bool was_cancelled(const Cancellation* cancellation) {
  return cancellation != nullptr && cancellation->is_cancelled();
}

// The result of a call that did not run.
ToolResult withheld(const ToolRequest& call, const Status& why) {
  return {.id = call.id,
          .name = call.name,
          .text = fmt::format("error ({}): {}", code_name(why.code()), why.message()),
          .is_error = true,
          .is_refused = true};
}

}  // namespace

// A call that cannot run anyhow needs no consent: the executor says why.
Status ToolLoop::permission(const ToolRequest& call, const ToolLoopWatch& watch) const {
  const ToolRegistry::Entry entry = registry_.find(call.name);
  if (entry == nullptr || !entry->spec().needs_consent) return {};
  if (!entry->read_arguments(call.arguments)) return {};
  if (watch.may_run && watch.may_run(call, *entry)) return {};
  return Status(Code::unavailable, "the user did not allow this call; do not repeat it");
}

// All questions come before the first call runs, so that questions are not mixed with the output
// of tools, and so that a cancellation at a question stops the calls that were allowed, too.
std::vector<ToolResult> ToolLoop::run_calls(const std::vector<ToolRequest>& calls,
                                            const ToolLoopWatch& watch,
                                            const Cancellation* cancellation) const {
  std::vector<ToolResult> results(calls.size());
  std::vector<ToolRequest> allowed;
  std::vector<size_t> places;  // of the allowed ones in `calls`
  for (size_t i = 0; i < calls.size(); ++i) {
    if (watch.on_call) watch.on_call(calls[i]);
    Status status;
    if (i >= options_.max_calls) {
      status = Status(Code::invalid,
                      fmt::format("an answer may have at most {} calls", options_.max_calls));
    } else if (!was_cancelled(cancellation)) {
      status = permission(calls[i], watch);
    }
    if (status.ok()) {
      allowed.push_back(calls[i]);
      places.push_back(i);
    } else {
      results[i] = withheld(calls[i], status);
      if (watch.on_result) watch.on_result(results[i]);
    }
  }
  std::vector<ToolResult> done = executor_.run(allowed, cancellation, watch.on_result);
  for (size_t k = 0; k < places.size(); ++k) results[places[k]] = std::move(done[k]);
  return results;
}

Result<ToolLoopOutcome> ToolLoop::run(LoopModel& model, const ToolLoopWatch& watch,
                                      const Cancellation* cancellation) const {
  ToolLoopOutcome outcome;
  while (true) {
    const std::vector<ToolRequest> calls = TRY(model.answer(outcome.n_rounds, cancellation));
    if (!calls.empty()) {
      ++outcome.n_rounds;
      const std::vector<ToolResult> results = run_calls(calls, watch, cancellation);
      outcome.n_calls += static_cast<int>(results.size());
      outcome.n_failed += static_cast<int>(std::ranges::count_if(results, &ToolResult::is_error));
      model.take_results(results);
    }
    outcome.end = was_cancelled(cancellation) ? ToolLoopEnd::cancelled
                  : calls.empty()             ? ToolLoopEnd::answered
                                              : ToolLoopEnd::rounds;
    if (outcome.end != ToolLoopEnd::rounds || outcome.n_rounds >= options_.max_rounds)
      return outcome;
  }
}

}  // namespace ruv
