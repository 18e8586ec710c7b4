#include "base/machine.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <thread>

#include "base/posix/memory_limit.h"
#include "base/posix/system_text.h"

namespace ruv {

int available_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) == 0) return std::max(1, CPU_COUNT(&set));
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

int64_t machine_memory_bytes() {
  const int64_t all = int64_t{::sysconf(_SC_PHYS_PAGES)} * int64_t{::sysconf(_SC_PAGESIZE)};
  return std::min(all, memory_limit().value_or(all));
}

int64_t file_memory_bytes() {
  const int64_t all = machine_memory_bytes();
  const int64_t available =
      number_after(read_system_text("/proc/meminfo"), "MemAvailable:").value_or(all >> 10) << 10;
  return std::min({all, available, file_memory_limit().value_or(all)});
}

}  // namespace ruv
