// A program is stopped by killing its group, or its sandbox's first process, with which all others
// in its namespace end. What was written until then is still read, within the limits.
#include "tools/run_program.h"

#include <algorithm>

#include "base/clock.h"

namespace ruv {
namespace {

// Between two looks at a program's memory.
constexpr int64_t kMemoryLookMs = 100;

// Appends up to the limit. Whether all of it fitted.
bool append_within(std::string& to, std::string_view from, size_t max_bytes) {
  const size_t room = max_bytes - std::min(max_bytes, to.size());
  to.append(from.substr(0, room));
  return from.size() <= room;
}

// Looks at the memory of a process when it is time.
class MemoryWatch {
 public:
  MemoryWatch(const Process& process, uint64_t max_bytes, int64_t now_ns)
      : process_(process), max_bytes_(max_bytes), looked_ns_(now_ns) {}
  bool is_above_limit(int64_t now_ns) {
    if (max_bytes_ == 0 || now_ns - looked_ns_ < kMemoryLookMs * 1'000'000) return false;
    looked_ns_ = now_ns;
    return process_.memory_bytes() > max_bytes_;
  }

 private:
  const Process& process_;
  uint64_t max_bytes_;
  int64_t looked_ns_;
};

// Turns of the process until it has ended by itself, which leaves `stop` as it is, or must not
// continue.
Status drive(Process& process, std::string_view input, const ProgramLimits& limits,
             const Cancellation* cancellation, ProgramOutcome& outcome) {
  const SteadyClock clock;
  const int64_t deadline_ns = clock.now_ns() + limits.timeout_ms * 1'000'000;
  MemoryWatch memory(process, limits.max_memory_bytes, clock.now_ns());
  while (!process.ended()) {
    if (cancellation != nullptr && cancellation->is_cancelled()) {
      outcome.stop = ProgramStop::cancelled;
      return {};
    }
    const int64_t left_ns = deadline_ns - clock.now_ns();
    if (left_ns <= 0) {
      outcome.stop = ProgramStop::timeout;
      return {};
    }
    if (input.empty() || !process.reads_input()) {
      process.close_input();
      input = {};
    }
    if (memory.is_above_limit(clock.now_ns())) {
      outcome.stop = ProgramStop::memory;
      return {};
    }
    int64_t wait_ms = left_ns / 1'000'000 + 1;
    if (limits.max_memory_bytes > 0) wait_ms = std::min(wait_ms, kMemoryLookMs);
    const ProcessTurn turn = TRY(process.turn(input, wait_ms));
    input.remove_prefix(turn.n_taken);
    const bool fits = append_within(outcome.output, turn.output, limits.max_output_bytes) &&
                      append_within(outcome.errors, turn.errors, limits.max_output_bytes);
    if (!fits) {
      outcome.stop = ProgramStop::output;
      return {};
    }
  }
  return {};
}

// What is in the pipes after the group was killed. A process that left the group may hold them open
// and write for ever: reading ends at the limits, or when nothing comes at once.
Status drain(Process& process, const ProgramLimits& limits, ProgramOutcome& outcome) {
  while (process.output_is_open()) {
    const ProcessTurn turn = TRY(process.turn({}, process.ended() ? 0 : 100));
    const bool fits = append_within(outcome.output, turn.output, limits.max_output_bytes) &&
                      append_within(outcome.errors, turn.errors, limits.max_output_bytes);
    if (!fits && outcome.stop == ProgramStop::none) outcome.stop = ProgramStop::output;
    const bool idle = turn.output.empty() && turn.errors.empty();
    if (!fits || (idle && process.ended())) break;
  }
  return {};
}

}  // namespace

Result<ProgramOutcome> run_program(const ProcessOptions& options, std::string_view input,
                                   const ProgramLimits& limits, const Cancellation* cancellation) {
  Process process = TRY(Process::start(options));
  ProgramOutcome outcome;
  {
    std::optional<Cancellation::Watch> watch;
    if (cancellation != nullptr) watch.emplace(*cancellation, [&] { process.wake(); });
    TRY(drive(process, input, limits, cancellation, outcome));
  }
  process.kill();
  TRY(drain(process, limits, outcome));
  if (outcome.stop == ProgramStop::none) outcome.end = *process.ended();
  return outcome;
}

}  // namespace ruv
