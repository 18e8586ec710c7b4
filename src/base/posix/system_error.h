// What the operating system says when a call on a file fails, as a Status.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace ruv {

// The code of an errno value: no room of any kind (disk, quota, limit of a file's size, memory) is
// out_of_memory, what the caller may not do or open is invalid.
Code code_of_errno(int error);
// "<path>: cannot <what>: <the system's reason>", from errno.
tl::unexpected<Status> system_failure(const std::string& path, std::string_view what);

}  // namespace ruv
