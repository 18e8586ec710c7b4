// A filter of system calls for sandboxed programs, as the kernel's seccomp takes it.
//
// The namespaces of a sandbox hide files, processes and networks; the filter also closes calls
// that a program needs no more once it runs, and in which a mistake of the kernel would let it out:
// mounts, new namespaces, looking into other processes, keys, kernel modules, BPF, io_uring, rare
// kinds of sockets. What is closed fails with EPERM (clone3 with ENOSYS, after which C libraries
// use clone, whose flags can be seen; sockets with EAFNOSUPPORT); everything else is allowed.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"

namespace ruv {

enum class FilterProcessor : uint8_t { x86_64, aarch64 };

// The processor that this build is for. Fails: unsupported.
Result<FilterProcessor> this_processor();
// The program's instructions as bytes in the kernel's layout, 8 for each.
std::string syscall_filter(FilterProcessor processor);

}  // namespace ruv
