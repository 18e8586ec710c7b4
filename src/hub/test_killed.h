// A process that is killed in the middle of a job, for tests of what it leaves.
#pragma once

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>

#include "base/result.h"

namespace ruv {

using StepJob = std::function<Status(const std::function<bool()>&)>;

// Runs the job in a process of its own that is killed when it asks for step n, from 0 on, whether
// to go on. False: it ended before, and well.
inline bool killed_at(int n, const StepJob& job) {
  const pid_t child = ::fork();
  if (child == 0) {
    int n_left = n;
    const Status status = job([&] {
      if (n_left-- == 0) ::kill(::getpid(), SIGKILL);
      return true;
    });
    ::_exit(status.ok() ? 0 : 1);
  }
  int how = 0;
  EXPECT_EQ(::waitpid(child, &how, 0), child);
  EXPECT_TRUE(WIFSIGNALED(how) || WEXITSTATUS(how) == 0);
  return WIFSIGNALED(how);
}

}  // namespace ruv
