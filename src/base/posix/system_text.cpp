#include "base/posix/system_text.h"

#include <fcntl.h>

#include "base/posix/owned_fd.h"

namespace ruv {

std::string read_system_text(const std::string& path) {
  std::string text;
  const OwnedFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.is_open()) return text;
  for (ssize_t n = 1; n > 0;) {
    const size_t before = text.size();
    text.resize(before + 4096);
    n = ::read(fd.get(), text.data() + before, 4096);
    text.resize(before + (n > 0 ? static_cast<size_t>(n) : 0));
  }
  return text;
}

}  // namespace ruv
