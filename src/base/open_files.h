// How many files and sockets this process may have open.
#pragma once

#include <cstdint>

namespace ruv {

// Raises the process's limit to `wanted` open files, as far as the system lets it, and returns what
// it is then, at most `wanted`. Never lowers it.
int64_t raise_open_file_limit(int64_t wanted);

}  // namespace ruv
