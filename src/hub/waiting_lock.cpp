#include "hub/waiting_lock.h"

#include <chrono>

#include "base/folder.h"
#include "base/thread.h"

namespace ruv {

Result<FileLock> wait_for_lock(const std::string& path, const std::function<bool()>& goes_on) {
  constexpr std::chrono::milliseconds kLookAgain(100);
  TRY(make_folder(path.substr(0, path.rfind('/'))));
  for (;;) {
    Result<FileLock> lock = FileLock::take(path);
    if (lock || lock.error().code() != Code::unavailable) return lock;
    if (!goes_on()) return fail(Code::cancelled, "{}: stopped", path);
    std::this_thread::sleep_for(kLookAgain);
  }
}

}  // namespace ruv
