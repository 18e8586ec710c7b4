// Files that the system makes as they are read, of /proc and /sys: they have no size and cannot be
// mapped.
#pragma once

#include <string>

namespace ruv {

// Empty when there is no such file or it cannot be read.
std::string read_system_text(const std::string& path);

}  // namespace ruv
