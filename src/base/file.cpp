#include "base/file.h"

#include <fcntl.h>
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
    case ENOMEM:
    case ENOSPC:
      return Code::out_of_memory;
    default:
      return Code::internal;
  }
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
    return MappedFile({}, path);
  }
  void* const start = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd, 0);
  const bool mapped = start != MAP_FAILED;
  const std::string reason = mapped ? "" : system_reason();
  ::close(fd);
  if (!mapped) return fail(Code::out_of_memory, "{}: cannot map: {}", path, reason);
  return MappedFile({static_cast<const std::byte*>(start), size}, path);
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : bytes_(std::exchange(other.bytes_, {})), path_(std::move(other.path_)) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(bytes_, other.bytes_);
  std::swap(path_, other.path_);
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

Result<std::string> read_text_file(const std::string& path) {
  const MappedFile file = TRY(MappedFile::open(path));
  return std::string(as_text(file.bytes()));
}

bool file_exists(const std::string& path) { return ::access(path.c_str(), F_OK) == 0; }

bool is_directory(const std::string& path) {
  struct stat info {};
  return ::stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
}

Result<FileWriter> FileWriter::create(const std::string& path) {
  std::string temporary = path + ".partial.XXXXXX";
  const int fd = ::mkostemp(temporary.data(), O_CLOEXEC);
  if (fd < 0) return fail(code_of_errno(), "{}: cannot create: {}", path, system_reason());
  ::fchmod(fd, 0644);
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
  while (!bytes.empty()) {
    const ssize_t n = ::write(fd_, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return fail(code_of_errno(), "{}: cannot write: {}", path_, system_reason());
    bytes = bytes.subspan(static_cast<size_t>(n));
    offset_ += static_cast<uint64_t>(n);
  }
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

}  // namespace ruv
