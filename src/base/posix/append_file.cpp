#include "base/append_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "base/check.h"
#include "base/posix/system_error.h"

namespace ruv {
namespace {

constexpr int kMaxParts = 6;
constexpr int kLockTries = 16;

// Steps over the first n bytes of the parts that are left.
void skip(std::span<iovec>& parts, size_t n) {
  while (!parts.empty() && n >= parts[0].iov_len) {
    n -= parts[0].iov_len;
    parts = parts.subspan(1);
  }
  if (parts.empty()) return;
  parts[0].iov_base = static_cast<std::byte*>(parts[0].iov_base) + n;
  parts[0].iov_len -= n;
}

}  // namespace

Result<AppendFile> AppendFile::create(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd < 0) return system_failure(path, "create");
  return AppendFile(fd, path);
}

Result<AppendFile> AppendFile::open(const std::string& path) {
  // Not blocking: opening a named pipe would wait for its other end.
  const int fd = ::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (fd < 0) return system_failure(path, "open");
  AppendFile file(fd, path);
  struct stat info {};
  if (::fstat(fd, &info) != 0) return system_failure(path, "open");
  if (!S_ISREG(info.st_mode)) return fail(Code::invalid, "{}: not a regular file", path);
  file.n_bytes_ = static_cast<uint64_t>(info.st_size);
  file.modified_ns_ = int64_t{info.st_mtim.tv_sec} * 1'000'000'000 + int64_t{info.st_mtim.tv_nsec};
  return file;
}

AppendFile::~AppendFile() {
  if (fd_ >= 0) ::close(fd_);
}

// After a failed write the file is cut to its old length.
Status AppendFile::append(std::initializer_list<Bytes> parts) {
  CHECK(parts.size() <= kMaxParts);
  std::array<iovec, kMaxParts> vectors{};
  size_t n_parts = 0;
  for (const Bytes part : parts) {
    vectors[n_parts++] = {const_cast<std::byte*>(part.data()), part.size()};
  }
  std::span<iovec> left(vectors.data(), n_parts);
  uint64_t end = n_bytes_;
  skip(left, 0);
  while (!left.empty()) {
    const ssize_t n =
        ::pwritev(fd_, left.data(), static_cast<int>(left.size()), static_cast<off_t>(end));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) {
      const tl::unexpected<Status> failure = system_failure(path_, "write");
      // Where even this fails, the next append writes over what is there.
      [[maybe_unused]] const int ignored = ::ftruncate(fd_, static_cast<off_t>(n_bytes_));
      return failure;
    }
    end += static_cast<uint64_t>(n);
    skip(left, static_cast<size_t>(n));
  }
  n_bytes_ = end;
  return {};
}

Status AppendFile::cut(uint64_t n_bytes) {
  CHECK(n_bytes <= n_bytes_);
  if (::ftruncate(fd_, static_cast<off_t>(n_bytes)) != 0) return system_failure(path_, "shorten");
  n_bytes_ = n_bytes;
  return {};
}

Status AppendFile::sync() {
  if (::fdatasync(fd_) != 0) return system_failure(path_, "sync");
  return {};
}

void AppendFile::touch() const { ::futimens(fd_, nullptr); }

void AppendFile::expect_read(uint64_t offset, uint64_t n) const {
  ::posix_fadvise(fd_, static_cast<off_t>(offset), static_cast<off_t>(n), POSIX_FADV_WILLNEED);
}

Status AppendFile::read(uint64_t offset, std::span<std::byte> first,
                        std::span<std::byte> second) const {
  std::array<iovec, 2> vectors{{{first.data(), first.size()}, {second.data(), second.size()}}};
  std::span<iovec> left(vectors);
  skip(left, 0);
  while (!left.empty()) {
    const ssize_t n =
        ::preadv(fd_, left.data(), static_cast<int>(left.size()), static_cast<off_t>(offset));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return system_failure(path_, "read");
    if (n == 0) return fail(Code::corrupt, "{}: ends at byte {}", path_, offset);
    offset += static_cast<uint64_t>(n);
    skip(left, static_cast<size_t>(n));
  }
  return {};
}

// flock: released by the system when the process ends.
// Some holders remove the file as they release it: a lock on a file without a name excludes no one.
Result<FileLock> FileLock::take(const std::string& path) {
  for (int tries = 0; tries < kLockTries; ++tries) {
    const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0) return system_failure(path, "create");
    FileLock lock(fd);
    if (::flock(fd, LOCK_EX | LOCK_NB) != 0) {
      if (errno != EWOULDBLOCK) return system_failure(path, "lock");
      break;
    }
    struct stat info {};
    if (::fstat(fd, &info) == 0 && info.st_nlink > 0) return lock;
  }
  return fail(Code::unavailable, "{}: another process or engine uses this folder", path);
}

FileLock::~FileLock() {
  if (fd_ >= 0) ::close(fd_);
}

Status sync_folder(const std::string& folder) {
  const int fd = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return system_failure(folder, "open");
  Status status;
  if (::fsync(fd) != 0) status = system_failure(folder, "sync");
  ::close(fd);
  return status;
}

}  // namespace ruv
