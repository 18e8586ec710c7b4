#include "base/file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

namespace ruv {
namespace {

std::string system_reason() { return std::generic_category().message(errno); }

Code code_of_errno() {
  switch (errno) {
    case ENOENT:
    case ENOTDIR:
      return Code::not_found;
    case EACCES:
    case EISDIR:
    case EPERM:
      return Code::invalid;
    case EWOULDBLOCK:
      return Code::unavailable;
    case ENOMEM:
    case ENOSPC:
      return Code::out_of_memory;
    default:
      return Code::internal;
  }
}

int64_t nanoseconds(const timespec& time) {
  return int64_t{time.tv_sec} * 1'000'000'000 + int64_t{time.tv_nsec};
}

FileStamp stamp_from(const struct stat& info) {
  return {static_cast<uint64_t>(info.st_size), nanoseconds(info.st_mtim),
          nanoseconds(info.st_ctim)};
}

// All of `bytes`, at `offset`.
Status write_all(int fd, uint64_t offset, Bytes bytes, const std::string& path) {
  while (!bytes.empty()) {
    const ssize_t n = ::pwrite(fd, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return fail(code_of_errno(), "{}: cannot write: {}", path, system_reason());
    bytes = bytes.subspan(static_cast<size_t>(n));
    offset += static_cast<uint64_t>(n);
  }
  return {};
}

}  // namespace

Result<MappedFile> MappedFile::open(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return fail(code_of_errno(), "{}: cannot open: {}", path, system_reason());
  struct stat info {};
  if (::fstat(fd, &info) != 0 || !S_ISREG(info.st_mode)) {
    ::close(fd);
    return fail(Code::invalid, "{}: not a regular file", path);
  }
  const auto size = static_cast<size_t>(info.st_size);
  if (size == 0) {  // mmap refuses empty ranges
    ::close(fd);
    return MappedFile({}, path, stamp_from(info));
  }
  void* const start = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd, 0);
  const bool mapped = start != MAP_FAILED;
  const std::string reason = mapped ? "" : system_reason();
  ::close(fd);
  if (!mapped) return fail(Code::out_of_memory, "{}: cannot map: {}", path, reason);
  return MappedFile({static_cast<const std::byte*>(start), size}, path, stamp_from(info));
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : bytes_(std::exchange(other.bytes_, {})),
      path_(std::move(other.path_)),
      stamp_(other.stamp_) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(bytes_, other.bytes_);
  std::swap(path_, other.path_);
  std::swap(stamp_, other.stamp_);
  return *this;
}

MappedFile::~MappedFile() {
  if (!bytes_.empty()) ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

void MappedFile::drop_pages() const {
  if (!bytes_.empty()) {
    ::madvise(const_cast<std::byte*>(bytes_.data()), bytes_.size(), MADV_DONTNEED);
  }
}

void MappedFile::expect_full_read() const {
  if (!bytes_.empty()) {
    ::madvise(const_cast<std::byte*>(bytes_.data()), bytes_.size(), MADV_HUGEPAGE);
  }
}

void MappedFile::expect_read(Bytes part) {
  if (part.empty()) return;
  const auto page_bytes = static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE));
  const auto at = reinterpret_cast<uintptr_t>(part.data());
  const size_t before = at % page_bytes;
  ::madvise(reinterpret_cast<void*>(at - before), before + part.size(), MADV_WILLNEED);
}

Result<std::string> read_text_file(const std::string& path) {
  const MappedFile file = TRY(MappedFile::open(path));
  return std::string(as_text(file.bytes()));
}

bool file_exists(const std::string& path) { return ::access(path.c_str(), F_OK) == 0; }

bool is_directory(const std::string& path) {
  struct stat info {};
  return ::stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
}

Result<FileStamp> stamp_of(const std::string& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) == 0) return stamp_from(info);
  return fail(code_of_errno(), "{}: {}", path, system_reason());
}

Result<FileWriter> FileWriter::create(const std::string& path, FileReaders readers) {
  std::string temporary = path + ".partial.XXXXXX";
  const int fd = ::mkostemp(temporary.data(), O_CLOEXEC);
  if (fd < 0) return fail(code_of_errno(), "{}: cannot create: {}", path, system_reason());
  if (readers == FileReaders::everyone) ::fchmod(fd, 0644);  // it begins as its owner's
  return FileWriter(fd, path, std::move(temporary));
}

FileWriter::FileWriter(FileWriter&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)),
      offset_(other.offset_),
      path_(std::move(other.path_)),
      temporary_(std::move(other.temporary_)) {}

FileWriter::~FileWriter() {
  if (fd_ < 0) return;
  ::close(fd_);
  ::unlink(temporary_.c_str());
}

Status FileWriter::write(Bytes bytes) {
  TRY(write_all(fd_, offset_, bytes, path_));
  offset_ += bytes.size();
  return {};
}

Status FileWriter::commit() {
  const bool written = ::fsync(fd_) == 0 && ::close(fd_) == 0;
  fd_ = -1;
  if (!written || ::rename(temporary_.c_str(), path_.c_str()) != 0) {
    const std::string reason = system_reason();
    ::unlink(temporary_.c_str());
    return fail(code_of_errno(), "{}: cannot finish writing: {}", path_, reason);
  }
  return {};
}

namespace {

std::string partial_name(const std::string& path) { return path + ".partial"; }

// Between opening and locking, the file may have got its final name or none: then the lock is on a
// file that is no longer ours to change.
bool still_named(int fd, const std::string& path) {
  struct stat opened {};
  struct stat named {};
  return ::fstat(fd, &opened) == 0 && ::stat(path.c_str(), &named) == 0 &&
         opened.st_ino == named.st_ino && opened.st_dev == named.st_dev;
}

}  // namespace

Result<SharedFileWriter> SharedFileWriter::create(const std::string& path, uint64_t max_bytes) {
  const std::string partial = partial_name(path);
  const int fd = ::open(partial.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644);
  if (fd < 0) return fail(code_of_errno(), "{}: cannot create: {}", partial, system_reason());
  const bool locked = ::flock(fd, LOCK_EX | LOCK_NB) == 0;
  if (!locked || !still_named(fd, partial)) {
    const Code code = locked ? Code::unavailable : code_of_errno();
    const std::string reason = code == Code::unavailable ? "another process writes it now"
                                                         : "cannot lock: " + system_reason();
    ::close(fd);
    return fail(code, "{}: {}", partial, reason);
  }
  SharedFileWriter writer(fd, path);
  if (::ftruncate(fd, 0) != 0)  // what a process that died left there
    return fail(code_of_errno(), "{}: cannot empty it: {}", partial, system_reason());
  void* const start = ::mmap(nullptr, max_bytes, PROT_READ, MAP_SHARED, fd, 0);
  if (start == MAP_FAILED)
    return fail(Code::out_of_memory, "{}: cannot map: {}", partial, system_reason());
  writer.mapping_ = std::make_shared<const MappedFile>(
      MappedFile({static_cast<const std::byte*>(start), max_bytes}, path, {}));
  writer.mapping_->expect_full_read();
  return writer;
}

SharedFileWriter::SharedFileWriter(SharedFileWriter&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)),
      path_(std::move(other.path_)),
      mapping_(std::move(other.mapping_)) {}

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
    return fail(code_of_errno(), "{}: cannot rename to it: {}", path_, system_reason());
  ::close(std::exchange(fd_, -1));
  return {};
}

}  // namespace ruv
