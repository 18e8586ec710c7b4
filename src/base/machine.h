// What this process may use of the machine. Read from the system each time: a container may change
// its limits.
#pragma once

#include <cstdint>

namespace ruv {

// Cores it may run on, at least 1.
int available_cores();

// Memory that this process may use: the machine's, or less where it is limited, in bytes.
int64_t machine_memory_bytes();

// As much of it as this process may use for pages of files without taking memory from anything but
// other such pages: what is free, and what such pages have now. Where the system does not say, all
// of it.
int64_t file_memory_bytes();

}  // namespace ruv
