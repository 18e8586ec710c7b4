// The first half of a process's life: from the options to a child that runs the program.
#pragma once

#include <sys/types.h>

#include "base/posix/owned_fd.h"
#include "base/process.h"

namespace ruv {

// A child that has begun to run its program, and this program's ends of its pipes.
struct StartedChild {
  pid_t pid = -1;
  OwnedFd input;   // writes to it, without waiting
  OwnedFd output;  // reads from it, without waiting
  OwnedFd errors;
};

// Returns when the program runs or could not be started. Fails: as Process::start.
Result<StartedChild> start_child(const ProcessOptions& options);

}  // namespace ruv
