// Waiting in tests: long enough for any machine, but not for ever. A build in which nothing happens
// any more fails and says what was waited for.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <iostream>
#include <mutex>

namespace ruv {

inline constexpr std::chrono::seconds kPatience{60};

// Ends the process: whoever is waited for may still hold what the test owns.
[[noreturn]] inline void give_up_waiting(const char* what) {
  std::cerr << "nothing happened for " << kPatience.count() << " s; waited for " << what << '\n';
  std::abort();
}

// Waits until over() holds. Requires: `changed` is notified when that may be so.
template <class Over>
void wait_patiently(std::condition_variable& changed, std::unique_lock<std::mutex>& lock,
                    const char* what, const Over& over) {
  if (!changed.wait_for(lock, kPatience, over)) give_up_waiting(what);
}

}  // namespace ruv
