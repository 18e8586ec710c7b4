#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mapped_ranges.h"
#include "base/posix/file_status.h"
#include "base/posix/system_error.h"

namespace ruv {
namespace {

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

MappedFile::~MappedFile() {
  if (bytes_.empty()) return;
  remove_mapped_range(range_);
  ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

bool MappedFile::is_damaged() const { return range_ != nullptr && range_is_damaged(*range_); }

// The pages stay mapped and are read again on use.
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

void MappedFile::expect_parts() const {
  if (!bytes_.empty()) {
    ::madvise(const_cast<std::byte*>(bytes_.data()), bytes_.size(), MADV_RANDOM);
  }
}

void MappedFile::expect_read(Bytes part) {
  if (part.empty()) return;
  const auto page_bytes = static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE));
  const auto at = reinterpret_cast<uintptr_t>(part.data());
  const size_t before = at % page_bytes;
  const size_t n = before + part.size();
  // Linux reads no more for one call than what a disk reads ahead, by default 128 KiB.
  constexpr size_t kPiece = 128 << 10;
  for (size_t done = 0; done < n; done += kPiece) {
    ::madvise(reinterpret_cast<void*>(at - before + done), std::min(kPiece, n - done),
              MADV_WILLNEED);
  }
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

}  // namespace ruv
