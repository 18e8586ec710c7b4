#include "base/file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>

#include "base/mapped_ranges.h"
#include "base/system_error.h"

namespace ruv {
namespace {

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
    if (n < 0) return system_failure(path, "write");
    bytes = bytes.subspan(static_cast<size_t>(n));
    offset += static_cast<uint64_t>(n);
  }
  return {};
}

FileId id_from(const struct stat& info) { return {info.st_dev, info.st_ino}; }

// What stands under a name in place of a file that can be read and replaced as one.
std::string_view kind_of(mode_t mode) {
  if (S_ISDIR(mode)) return "a folder";
  if (S_ISLNK(mode)) return "a symbolic link";
  if (S_ISFIFO(mode)) return "a named pipe";
  if (S_ISSOCK(mode)) return "a socket";
  return "a device";
}

tl::unexpected<Status> no_file(const std::string& path, mode_t mode) {
  return fail(Code::invalid, "{}: {}, not a regular file", path, kind_of(mode));
}

// A descriptor for reading a regular file. Looked at before it is opened, as opening a device can
// act on it, and afterwards, as the name may stand for something else by then; not blocking, as
// opening a named pipe would wait for its other end.
Result<int> open_regular(const std::string& path, struct stat& info) {
  if (::stat(path.c_str(), &info) != 0) return system_failure(path, "open");
  if (!S_ISREG(info.st_mode)) return no_file(path, info.st_mode);
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return system_failure(path, "open");
  if (::fstat(fd, &info) == 0 && S_ISREG(info.st_mode)) return fd;
  ::close(fd);
  return no_file(path, info.st_mode);
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

}  // namespace

Result<MappedFile> MappedFile::open(const std::string& path) {
  struct stat info {};
  const int fd = TRY(open_regular(path, info));
  const auto size = static_cast<size_t>(info.st_size);
  if (size == 0) {  // mmap refuses empty ranges
    ::close(fd);
    return MappedFile({}, path, stamp_from(info), id_from(info));
  }
  void* const start = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd, 0);
  if (start == MAP_FAILED) {
    const Status reason = system_failure(path, "map");
    ::close(fd);
    return fail(Code::out_of_memory, "{}", reason.message());
  }
  ::close(fd);
  return MappedFile({static_cast<const std::byte*>(start), size}, path, stamp_from(info),
                    id_from(info));
}

MappedFile::MappedFile(Bytes bytes, std::string path, const FileStamp& stamp, const FileId& id)
    : bytes_(bytes), path_(std::move(path)), stamp_(stamp), id_(id) {
  if (!bytes_.empty()) range_ = add_mapped_range(bytes_);
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : bytes_(std::exchange(other.bytes_, {})),
      path_(std::move(other.path_)),
      stamp_(other.stamp_),
      id_(other.id_),
      range_(std::exchange(other.range_, nullptr)) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(bytes_, other.bytes_);
  std::swap(path_, other.path_);
  std::swap(stamp_, other.stamp_);
  std::swap(id_, other.id_);
  std::swap(range_, other.range_);
  return *this;
}

MappedFile::~MappedFile() {
  if (bytes_.empty()) return;
  remove_mapped_range(range_);
  ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

bool MappedFile::is_damaged() const { return range_ != nullptr && range_is_damaged(*range_); }

Status MappedFile::check_read() const {
  if (!is_damaged()) return {};
  return fail(Code::internal, "{}: was cut, or could not be read, while it was in use", path_);
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
  std::string text(as_text(file.bytes()));
  TRY(file.check_read());
  return text;
}

bool file_exists(const std::string& path) { return ::access(path.c_str(), F_OK) == 0; }

bool is_directory(const std::string& path) {
  struct stat info {};
  return ::stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
}

Result<FileStamp> stamp_of(const std::string& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) == 0) return stamp_from(info);
  return system_failure(path, "look at it");
}

Result<FileId> id_of(const std::string& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) == 0) return id_from(info);
  return system_failure(path, "look at it");
}

Result<FileWriter> FileWriter::create(const std::string& path, FileTarget target) {
  TRY(check_target(path, target));
  std::string temporary = path + ".partial.XXXXXX";
  const int fd = ::mkostemp(temporary.data(), O_CLOEXEC);
  if (fd < 0) return system_failure(path, "create");
  // It begins as its owner's.
  if (target.readers == FileReaders::everyone) ::fchmod(fd, 0644);
  return FileWriter(fd, path, std::move(temporary), std::move(target));
}

FileWriter::FileWriter(FileWriter&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)),
      offset_(other.offset_),
      path_(std::move(other.path_)),
      temporary_(std::move(other.temporary_)),
      target_(std::move(other.target_)) {}

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

// What was not there at the beginning may be there now.
Status FileWriter::finish() {
  TRY(check_target(path_, target_));
  if (::fsync(fd_) != 0) return system_failure(path_, "finish writing");
  if (::close(std::exchange(fd_, -1)) != 0) return system_failure(path_, "finish writing");
  const unsigned flags = target_.replace ? 0 : RENAME_NOREPLACE;
  int result = ::renameat2(AT_FDCWD, temporary_.c_str(), AT_FDCWD, path_.c_str(), flags);
  // Not every file system knows the flag.
  if (result != 0 && errno == EINVAL) result = ::rename(temporary_.c_str(), path_.c_str());
  if (result != 0) return system_failure(path_, "finish writing");
  return {};
}

Status FileWriter::commit() {
  const Status status = finish();
  if (!status.ok()) {
    if (fd_ >= 0) ::close(std::exchange(fd_, -1));
    ::unlink(temporary_.c_str());
  }
  return status;
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
  const int fd =
      ::open(partial.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0644);
  if (fd < 0) return system_failure(partial, "create");
  struct stat info {};
  if (::fstat(fd, &info) != 0 || !S_ISREG(info.st_mode)) {
    ::close(fd);
    return no_file(partial, info.st_mode);
  }
  const bool locked = ::flock(fd, LOCK_EX | LOCK_NB) == 0;
  if (!locked || !still_named(fd, partial)) {
    const bool busy = locked || errno == EWOULDBLOCK;
    const tl::unexpected<Status> reason = system_failure(partial, "lock");
    ::close(fd);
    if (!busy) return reason;
    return fail(Code::unavailable, "{}: another process writes it now", partial);
  }
  SharedFileWriter writer(fd, path);
  // What a process that died left there goes.
  if (::ftruncate(fd, 0) != 0) return system_failure(partial, "empty it");
  void* const start = ::mmap(nullptr, max_bytes, PROT_READ, MAP_SHARED, fd, 0);
  if (start == MAP_FAILED) {
    const Status reason = system_failure(partial, "map");
    return fail(Code::out_of_memory, "{}", reason.message());
  }
  writer.mapping_ = std::make_shared<const MappedFile>(
      MappedFile({static_cast<const std::byte*>(start), max_bytes}, path, {}, id_from(info)));
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
    return system_failure(path_, "rename to it");
  ::close(std::exchange(fd_, -1));
  return {};
}

}  // namespace ruv
