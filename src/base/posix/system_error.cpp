#include "base/posix/system_error.h"

#include <cerrno>
#include <system_error>

namespace ruv {

Code code_of_errno(int error) {
  switch (error) {
    case ENOENT:
    case ENOTDIR:
      return Code::not_found;
    case EACCES:
    case EEXIST:
    case EISDIR:
    case ELOOP:
    case ENAMETOOLONG:
    case ENXIO:
    case EPERM:
    case EROFS:
      return Code::invalid;
    case EWOULDBLOCK:
      return Code::unavailable;
    case EDQUOT:
    case EFBIG:
    case ENOMEM:
    case ENOSPC:
      return Code::out_of_memory;
    default:
      return Code::internal;
  }
}

tl::unexpected<Status> system_failure(const std::string& path, std::string_view what) {
  const int error = errno;
  const std::string reason =
      error == ELOOP ? "a symbolic link" : std::generic_category().message(error);
  return fail(code_of_errno(error), "{}: cannot {}: {}", path, what, reason);
}

}  // namespace ruv
