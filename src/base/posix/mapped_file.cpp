#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>

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
    return MappedFile(fd, {}, path, stamp_from(info), id_from(info));
  }
  void* const start = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd, 0);
  if (start == MAP_FAILED) {
    const Status reason = system_failure(path, "map");
    ::close(fd);
    return fail(Code::out_of_memory, "{}", reason.message());
  }
  return MappedFile(fd, {static_cast<const std::byte*>(start), size}, path, stamp_from(info),
                    id_from(info));
}

MappedFile::MappedFile(int fd, Bytes bytes, std::string path, const FileStamp& stamp,
                       const FileId& id)
    : fd_(fd), bytes_(bytes), path_(std::move(path)), stamp_(stamp), id_(id) {
  if (!bytes_.empty()) range_ = add_mapped_range(bytes_);
}

MappedFile::~MappedFile() {
  if (fd_ >= 0) ::close(fd_);
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

bool MappedFile::is_in_memory(Bytes part) {
  if (part.empty()) return true;
  const auto page_bytes = static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE));
  const auto at = reinterpret_cast<uintptr_t>(part.data());
  const size_t n_pages = (at % page_bytes + part.size() + page_bytes - 1) / page_bytes;
  auto* const start = reinterpret_cast<std::byte*>(at - at % page_bytes);
  unsigned char states[1024];  // of pages, whose lowest bit says it
  for (size_t done = 0; done < n_pages; done += std::size(states)) {
    const size_t n = std::min(n_pages - done, std::size(states));
    if (::mincore(start + done * page_bytes, n * page_bytes, states) != 0) return true;
    if (!std::all_of(states, states + n, [](unsigned char s) { return (s & 1) != 0; }))
      return false;
  }
  return true;
}

void MappedFile::forget(Bytes part) const {
  const auto page_bytes = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  const auto at = static_cast<size_t>(part.data() - bytes_.data());
  const size_t begin = (at + page_bytes - 1) / page_bytes * page_bytes;
  const size_t end = (at + part.size()) / page_bytes * page_bytes;
  if (begin >= end) return;
  // The system drops only what no process has mapped.
  ::madvise(const_cast<std::byte*>(bytes_.data()) + begin, end - begin, MADV_DONTNEED);
  ::posix_fadvise(fd_, static_cast<off_t>(begin), static_cast<off_t>(end - begin),
                  POSIX_FADV_DONTNEED);
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
