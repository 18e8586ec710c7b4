// ProgramCheck: whether a Python program that a model wrote passes the test that comes with its
// task. Such programs do anything, so each runs alone in a sandbox (tools/sandbox.h): no network,
// no files but the system's, limits of time and memory.
#pragma once

#include <string>

#include "tools/run_program.h"
#include "tools/sandbox.h"

namespace ruv {

class ProgramCheck {
 public:
  // `limits`: of one program. A longer time is waited for those that do not end. Fails: as
  // Sandbox::open; not_found (python3).
  static Result<ProgramCheck> open(const ProgramLimits& limits = {
                                       .timeout_ms = 10'000,
                                       .max_output_bytes = 1 << 16,
                                       .max_memory_bytes = uint64_t{1} << 30});

  // True where it runs to its end without an exception; one that leaves earlier does not, whatever
  // its exit code is. Fails: as Process::start.
  Result<bool> passes(const std::string& program) const;

 private:
  ProgramCheck(Sandbox sandbox, const ProgramLimits& limits)
      : sandbox_(std::move(sandbox)), limits_(limits) {}

  Sandbox sandbox_;
  ProgramLimits limits_;
};

}  // namespace ruv
