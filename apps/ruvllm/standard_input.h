// Texts that come on stdin.
#pragma once

#include <string>

#include "base/result.h"

namespace ruv {

// Whether stdin is a pipe or a file: then someone put it there for this program to read. A
// terminal, /dev/null and what else a service inherits are not.
bool stdin_is_given();
// All of it. Fails: internal (a folder, a closed descriptor: the system's reason is quoted).
Result<std::string> read_stdin();

}  // namespace ruv
