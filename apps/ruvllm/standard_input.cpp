#include "standard_input.h"

#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <system_error>

namespace ruv {

bool stdin_is_given() {
  struct stat info {};
  return ::fstat(STDIN_FILENO, &info) == 0 && (S_ISFIFO(info.st_mode) || S_ISREG(info.st_mode));
}

Result<std::string> read_stdin() {
  std::string text;
  std::array<char, 65536> block;
  while (true) {
    const ssize_t n = ::read(STDIN_FILENO, block.data(), block.size());
    if (n == 0) return text;
    if (n > 0) {
      text.append(block.data(), static_cast<size_t>(n));
    } else if (errno != EINTR) {
      return fail(Code::internal, "stdin: cannot read: {}", std::generic_category().message(errno));
    }
  }
}

}  // namespace ruv
