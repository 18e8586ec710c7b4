// Which paths lie in a folder, links followed.
#pragma once

#include <string>

#include "base/result.h"

namespace ruv {

// The real path of what `path` leads to; a relative one begins in the folder. Fails: not_found (the
// folder, or what the path leads to, does not exist), invalid (it lies outside of the folder).
Result<std::string> path_inside(const std::string& folder, const std::string& path);

}  // namespace ruv
