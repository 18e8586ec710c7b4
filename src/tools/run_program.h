// Running a program to its end under limits of time and output.
#pragma once

#include <string>

#include "base/process.h"
#include "tools/tool.h"

namespace ruv {

struct ProgramLimits {
  int64_t timeout_ms = 30'000;
  // Each: standard output, standard error.
  size_t max_output_bytes = 1 << 20;
  // Memory of the program and all it has started together, looked at now and then, so that a little
  // more is possible for a moment; 0: no limit.
  uint64_t max_memory_bytes = 0;
};

// What ended a program.
enum class ProgramStop : uint8_t {
  none,     // it ended by itself
  timeout,  // it was killed for it, as for the others
  output,   // it wrote more than it may
  memory,
  cancelled,
};

struct ProgramOutcome {
  ProgramStop stop = ProgramStop::none;
  ProcessEnd end;      // where nothing stopped it
  std::string output;  // up to the limit
  std::string errors;
};

// Writes `input` to the program and reads what it writes until it has ended; what it started and
// left running is killed then. Fails: as Process::start.
Result<ProgramOutcome> run_program(const ProcessOptions& options, std::string_view input,
                                   const ProgramLimits& limits,
                                   const Cancellation* cancellation = nullptr);

}  // namespace ruv
