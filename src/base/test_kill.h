// Processes that write until they are killed, for tests of what a crash leaves.
#pragma once

#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>

namespace ruv {

// How many kills a test makes: RUV_KILLS, or 12.
inline int n_kills_wanted() {
  const char* const wanted = std::getenv("RUV_KILLS");
  return wanted != nullptr ? std::atoi(wanted) : 12;
}

// Writes the byte that acknowledges a step of a writer; a writer that cannot ends.
inline void acknowledge(int acknowledged) {
  if (::write(acknowledged, "x", 1) != 1) ::_exit(101);
}

// Starts a process that calls write(acknowledged), which returns the code that it failed with or
// does not return, and kills it some microseconds after its first step. Returns how many steps it
// acknowledged.
template <class Write>
int64_t n_steps_until_killed(uint32_t n_us, const Write& write) {
  int ends[2];
  EXPECT_EQ(::pipe(ends), 0);
  const pid_t child = ::fork();
  if (child == 0) ::_exit(write(ends[1]));
  ::close(ends[1]);
  // The first step may take long on a busy machine, and is waited for.
  pollfd first{ends[0], POLLIN, 0};
  ::poll(&first, 1, 60'000);
  ::usleep(n_us);
  ::kill(child, SIGKILL);
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_TRUE(WIFSIGNALED(status)) << "it ended by itself: " << WEXITSTATUS(status);
  int64_t n = 0;
  for (char byte = 0; ::read(ends[0], &byte, 1) == 1;) ++n;
  ::close(ends[0]);
  return n;
}

}  // namespace ruv
