// Reading at a place of a file.
#pragma once

#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <span>
#include <string>

#include "base/posix/system_error.h"
#include "base/result.h"

namespace ruv {

// Fills `bytes`. A read may give less than was asked for, or be interrupted. Fails: corrupt (the
// file ends before), as the system; `path` is quoted.
inline Status read_file_at(int fd, const std::string& path, uint64_t offset,
                           std::span<std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::pread(fd, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return system_failure(path, "read");
    if (n == 0) return fail(Code::corrupt, "{}: ends at byte {}", path, offset);
    bytes = bytes.subspan(static_cast<size_t>(n));
    offset += static_cast<uint64_t>(n);
  }
  return {};
}

}  // namespace ruv
