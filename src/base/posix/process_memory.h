// How much memory a process and its descendants use, from /proc.
#pragma once

#include <sys/types.h>

#include <cstdint>

namespace ruv {

// The resident memory that is not of files, summed over the process and what it has started, in
// bytes. Processes that begin or end during the count may be missing. 0: the system does not say.
uint64_t memory_of_family(pid_t pid);

}  // namespace ruv
