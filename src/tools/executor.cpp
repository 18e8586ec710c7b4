// The calls of a run are taken from a counter by as many threads as are allowed, the caller's among
// them, so a slow call delays no other while a thread is free.
#include "tools/executor.h"

#include <algorithm>
#include <atomic>

#include "base/clock.h"
#include "base/utf8.h"
#include "tools/cut_text.h"

namespace ruv {
namespace {

// A model reads the message, so it names the kind of failure in words.
std::string failure_text(const Status& status) {
  return fmt::format("error ({}): {}", code_name(status.code()), status.message());
}

struct CallOutcome {
  Result<ToolReply> reply;
  bool is_refused = false;
};

CallOutcome refused(Status status) { return {tl::unexpected<Status>(std::move(status)), true}; }

CallOutcome outcome_of(const ToolRegistry& registry, const ToolRequest& call,
                       const ToolCallTerms& terms) {
  if (terms.is_cancelled()) return refused(Status(Code::cancelled, "the call was cancelled"));
  const ToolRegistry::Entry entry = registry.find(call.name);
  if (entry == nullptr) {
    return refused(Status(Code::not_found, fmt::format("there is no tool '{}'",
                                                       to_valid_utf8(call.name.substr(0, 100)))));
  }
  const Result<Json> arguments = entry->read_arguments(call.arguments);
  if (!arguments) return refused(arguments.error());
  return {entry->tool().call(*arguments, terms)};
}

}  // namespace

ToolResult ToolExecutor::run_one(const ToolRequest& call, const Cancellation* cancellation,
                                 size_t max_bytes) const {
  const SteadyClock clock;
  const int64_t start = clock.now_ns();
  const CallOutcome outcome = outcome_of(
      registry_, call, {.cancellation = cancellation, .timeout_ms = options_.timeout_ms});
  ToolResult result{.id = call.id, .name = call.name, .text = {}};
  result.is_refused = outcome.is_refused;
  result.is_error = !outcome.reply || outcome.reply->is_error;
  result.text = cut_text(outcome.reply ? outcome.reply->text : failure_text(outcome.reply.error()),
                         max_bytes);
  result.duration_us = (clock.now_ns() - start) / 1000;
  return result;
}

std::vector<ToolResult> ToolExecutor::run(
    std::span<const ToolRequest> calls, const Cancellation* cancellation,
    const std::function<void(const ToolResult&)>& on_result) const {
  std::vector<ToolResult> results(calls.size());
  if (calls.empty()) return results;
  const size_t max_bytes =
      std::min(options_.max_result_bytes, options_.max_total_bytes / calls.size());
  std::atomic<size_t> next{0};
  Mutex reporting;
  const auto work = [&] {
    for (size_t i = next.fetch_add(1); i < calls.size(); i = next.fetch_add(1)) {
      results[i] = run_one(calls[i], cancellation, max_bytes);
      const Lock lock(reporting);
      if (on_result) on_result(results[i]);
    }
  };
  const size_t n_threads =
      std::min(calls.size(), static_cast<size_t>(std::max(1, options_.max_parallel)));
  // Where the system starts fewer threads, the others do their share.
  std::vector<Thread> threads(n_threads - 1);
  for (Thread& thread : threads) {
    if (!start_thread(thread, work)) break;
  }
  work();
  for (Thread& thread : threads) {
    if (thread.joinable()) thread.join();
  }
  return results;
}

}  // namespace ruv
