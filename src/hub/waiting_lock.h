// A file's lock that is waited for.
#pragma once

#include <functional>
#include <string>

#include "base/append_file.h"

namespace ruv {

// Calls `goes_on` every 0.1 s while another process has the lock. Makes the folder. Fails:
// cancelled
// (`goes_on` returned false), and as FileLock::take.
Result<FileLock> wait_for_lock(const std::string& path, const std::function<bool()>& goes_on);

}  // namespace ruv
