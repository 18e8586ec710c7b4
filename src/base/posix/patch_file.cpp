#include "base/patch_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "base/posix/read_at.h"
#include "base/posix/system_error.h"

namespace ruv {

Result<PatchFile> PatchFile::open(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0644);
  if (fd < 0) return system_failure(path, "open");
  PatchFile file(fd, path);
  struct stat info {};
  if (::fstat(fd, &info) != 0) return system_failure(path, "open");
  if (!S_ISREG(info.st_mode)) return fail(Code::invalid, "{}: not a regular file", path);
  return file;
}

PatchFile::~PatchFile() {
  if (fd_ >= 0) ::close(fd_);
}

Status PatchFile::write_at(uint64_t offset, Bytes bytes) const {
  while (!bytes.empty()) {
    const ssize_t n = ::pwrite(fd_, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return system_failure(path_, "write");
    bytes = bytes.subspan(static_cast<size_t>(n));
    offset += static_cast<uint64_t>(n);
  }
  return {};
}

Status PatchFile::read_at(uint64_t offset, std::span<std::byte> bytes) const {
  return read_file_at(fd_, path_, offset, bytes);
}

Result<uint64_t> PatchFile::size() const {
  struct stat info {};
  if (::fstat(fd_, &info) != 0) return system_failure(path_, "look at");
  return static_cast<uint64_t>(info.st_size);
}

Status PatchFile::resize(uint64_t size) const {
  if (::ftruncate(fd_, static_cast<off_t>(size)) != 0) return system_failure(path_, "resize");
  return {};
}

Status PatchFile::sync() const {
  if (::fsync(fd_) != 0) return system_failure(path_, "sync");
  return {};
}

}  // namespace ruv
