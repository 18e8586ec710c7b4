// Reading with pread, which needs no position of its own and so no lock.
#include "base/random_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/posix/read_at.h"
#include "base/posix/system_error.h"

namespace ruv {

// Not blocking: opening a named pipe would wait for its other end.
Result<RandomFile> RandomFile::open(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (fd < 0) return system_failure(path, "open");
  RandomFile file(fd, path);
  struct stat info {};
  if (::fstat(fd, &info) != 0) return system_failure(path, "open");
  if (!S_ISREG(info.st_mode)) return fail(Code::invalid, "{}: not a regular file", path);
  file.n_bytes_ = static_cast<uint64_t>(info.st_size);
  return file;
}

RandomFile::~RandomFile() {
  if (fd_ >= 0) ::close(fd_);
}

// Systems without advice read as they like; the bytes are the same.
void RandomFile::expect_parts() const {
#if defined(POSIX_FADV_RANDOM)
  ::posix_fadvise(fd_, 0, 0, POSIX_FADV_RANDOM);
#endif
}

void RandomFile::expect_read(uint64_t offset, uint64_t n) const {
#if defined(POSIX_FADV_WILLNEED)
  ::posix_fadvise(fd_, static_cast<off_t>(offset), static_cast<off_t>(n), POSIX_FADV_WILLNEED);
#else
  (void)offset;
  (void)n;
#endif
}

Status RandomFile::read_at(uint64_t offset, std::span<std::byte> bytes) const {
  return read_file_at(fd_, path_, offset, bytes);
}

}  // namespace ruv
