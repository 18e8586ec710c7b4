#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>

#include "base/check.h"
#include "base/file.h"
#include "base/posix/file_status.h"
#include "base/posix/read_at.h"
#include "base/posix/system_error.h"
#include "base/posix/write_log.h"

namespace ruv {
namespace {

// All of `bytes`, at `offset`.
Status write_all(int fd, uint64_t offset, Bytes bytes, const std::string& path) {
  while (!bytes.empty()) {
    const ssize_t n = ::pwrite(fd, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return system_failure(path, "write");
    bytes = bytes.subspan(static_cast<size_t>(n));
    offset += static_cast<uint64_t>(n);
  }
  return {};
}

// Whether a file may be written under this name: nothing is there, or a regular file that may go.
Status check_target(const std::string& path, const FileTarget& target) {
  struct stat info {};
  if (::lstat(path.c_str(), &info) != 0) {
    if (errno == ENOENT) return {};
    return system_failure(path, "write");
  }
  if (S_ISLNK(info.st_mode))
    return fail(Code::invalid, "{}: a symbolic link is not written over; give the file itself",
                path);
  if (!S_ISREG(info.st_mode)) return no_file(path, info.st_mode);
  if (std::ranges::find(target.never, id_from(info)) != target.never.end())
    return fail(Code::invalid, "{}: the same file as one that is read here; give another name",
                path);
  if (!target.replace) return fail(Code::invalid, "{}: exists already; --force replaces it", path);
  return {};
}

std::string partial_name(const std::string& path) { return path + ".partial"; }

// Between opening and locking, the file may have got its final name or none: then the lock is on a
// file that is no longer ours to change.
bool still_named(int fd, const std::string& path) {
  struct stat opened {};
  struct stat named {};
  return ::fstat(fd, &opened) == 0 && ::stat(path.c_str(), &named) == 0 &&
         opened.st_ino == named.st_ino && opened.st_dev == named.st_dev;
}

// A descriptor of "<path>.partial", whose lock it holds.
Result<int> open_partial(const std::string& partial) {
  const int fd =
      ::open(partial.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0644);
  if (fd < 0) return system_failure(partial, "create");
  struct stat info {};
  if (::fstat(fd, &info) != 0 || !S_ISREG(info.st_mode)) {
    ::close(fd);
    return no_file(partial, info.st_mode);
  }
  const bool locked = ::flock(fd, LOCK_EX | LOCK_NB) == 0;
  if (locked && still_named(fd, partial)) return fd;
  const bool busy = locked || errno == EWOULDBLOCK;
  const tl::unexpected<Status> reason = system_failure(partial, "lock");
  ::close(fd);
  if (!busy) return reason;
  return fail(Code::unavailable, "{}: another process writes it now", partial);
}

}  // namespace

Result<FileWriter> FileWriter::create(const std::string& path, FileTarget target) {
  TRY(check_target(path, target));
  if (target.resumable) return resume(path, std::move(target));
  std::string temporary = path + ".partial.XXXXXX";
  const int fd = ::mkostemp(temporary.data(), O_CLOEXEC);
  if (fd < 0) return system_failure(path, "create");
  // It begins as its owner's.
  if (target.readers == FileReaders::everyone) ::fchmod(fd, 0644);
  return FileWriter(fd, path, std::move(temporary), std::move(target));
}

Result<FileWriter> FileWriter::resume(const std::string& path, FileTarget target) {
  std::string partial = partial_name(path);
  const int fd = TRY(open_partial(partial));
  FileWriter writer(fd, path, partial, std::move(target));
  if (writer.target_.readers == FileReaders::owner) ::fchmod(fd, 0600);
  writer.log_ = std::make_shared<WriteLog>(TRY(WriteLog::open(partial, fd)));
  writer.n_kept_ = writer.log_->n_whole();
  return writer;
}

FileWriter::~FileWriter() {
  if (fd_ >= 0 && log_ == nullptr) discard();
  if (fd_ >= 0) ::close(fd_);
}

void FileWriter::discard() {
  ::unlink(temporary_.c_str());
  if (log_ != nullptr) log_->remove();
  ::close(std::exchange(fd_, -1));
}

void FileWriter::skip(uint64_t n) {
  CHECK(offset_ + n <= n_kept_);
  offset_ += n;
}

Status FileWriter::write(Bytes bytes) {
  if (offset_ < n_kept_) {
    std::vector<std::byte> there(bytes.size());
    if (offset_ + bytes.size() <= n_kept_ && read_file_at(fd_, temporary_, offset_, there).ok() &&
        std::ranges::equal(there, bytes)) {
      offset_ += bytes.size();
      return {};
    }
    n_kept_ = offset_;
    TRY(log_->cut(offset_));
  }
  TRY(write_all(fd_, offset_, bytes, path_));
  if (log_ != nullptr) TRY(log_->note(offset_, bytes));
  offset_ += bytes.size();
  return {};
}

// What was not there at the beginning may be there now.
Status FileWriter::finish() {
  TRY(check_target(path_, target_));
  // What an earlier writer left may be longer.
  if (log_ != nullptr && ::ftruncate(fd_, static_cast<off_t>(offset_)) != 0)
    return system_failure(path_, "shorten");
  if (::fsync(fd_) != 0) return system_failure(path_, "finish writing");
  if (::close(std::exchange(fd_, -1)) != 0) return system_failure(path_, "finish writing");
  const unsigned flags = target_.replace ? 0 : RENAME_NOREPLACE;
  int result = ::renameat2(AT_FDCWD, temporary_.c_str(), AT_FDCWD, path_.c_str(), flags);
  // Not every file system knows the flag.
  if (result != 0 && errno == EINVAL) result = ::rename(temporary_.c_str(), path_.c_str());
  if (result != 0) return system_failure(path_, "finish writing");
  if (log_ != nullptr) log_->remove();
  return {};
}

// Removes the temporary file on failure, unless it is resumable.
Status FileWriter::commit() {
  const Status status = finish();
  if (!status.ok() && log_ == nullptr) {
    if (fd_ >= 0) ::close(std::exchange(fd_, -1));
    ::unlink(temporary_.c_str());
  }
  return status;
}

// Maps the whole range first, so that the mapping never moves.
Result<SharedFileWriter> SharedFileWriter::create(const std::string& path, uint64_t max_bytes) {
  const std::string partial = partial_name(path);
  const int fd = TRY(open_partial(partial));
  SharedFileWriter writer(fd, path);
  // What a process that died left there goes.
  if (::ftruncate(fd, 0) != 0) return system_failure(partial, "empty it");
  void* const start = ::mmap(nullptr, max_bytes, PROT_READ, MAP_SHARED, fd, 0);
  if (start == MAP_FAILED) {
    const Status reason = system_failure(partial, "map");
    return fail(Code::out_of_memory, "{}", reason.message());
  }
  // A descriptor of its own: a copy of `fd` would hold the lock for as long as the mapping lives.
  const int reading = ::open(partial.c_str(), O_RDONLY | O_CLOEXEC);
  struct stat info {};
  ::fstat(fd, &info);
  writer.mapping_ = std::make_shared<const MappedFile>(MappedFile(
      reading, {static_cast<const std::byte*>(start), max_bytes}, path, {}, id_from(info)));
  writer.mapping_->expect_full_read();
  return writer;
}

SharedFileWriter::~SharedFileWriter() {
  if (fd_ < 0) return;
  ::unlink(partial_name(path_).c_str());  // before the lock ends with the file
  ::close(fd_);
}

Status SharedFileWriter::write_at(uint64_t offset, Bytes bytes) {
  return write_all(fd_, offset, bytes, partial_name(path_));
}

Status SharedFileWriter::commit() {
  if (::rename(partial_name(path_).c_str(), path_.c_str()) != 0)
    return system_failure(path_, "rename to it");
  ::close(std::exchange(fd_, -1));
  return {};
}

}  // namespace ruv
