#include "base/machine.h"

#include <windows.h>

#include <algorithm>
#include <thread>

namespace ruv {

int available_cores() { return std::max(1, static_cast<int>(std::thread::hardware_concurrency())); }

int64_t machine_memory_bytes() {
  MEMORYSTATUSEX status{};
  status.dwLength = sizeof(status);
  return ::GlobalMemoryStatusEx(&status) != 0 ? static_cast<int64_t>(status.ullTotalPhys) : 0;
}

int64_t file_memory_bytes() {
  MEMORYSTATUSEX status{};
  status.dwLength = sizeof(status);
  return ::GlobalMemoryStatusEx(&status) != 0 ? static_cast<int64_t>(status.ullAvailPhys) : 0;
}

}  // namespace ruv
