// AppendFile: a file that one writer makes longer and any thread reads at any place, for stores
// that outlive the process. Such files hold private text: mode 0600, symbolic links not followed.
#pragma once

#include <initializer_list>
#include <span>
#include <string>
#include <utility>

#include "base/bytes.h"

namespace ruv {

// Move-only. read() may run in any thread beside one thread that calls the others.
class AppendFile {
 public:
  // A new, empty file. Fails: invalid (it exists, or may not be made), not_found (its folder),
  // out_of_memory (no room), internal.
  static Result<AppendFile> create(const std::string& path);
  // Fails: not_found, invalid (no regular file, a symbolic link, not ours to write), internal.
  static Result<AppendFile> open(const std::string& path);
  AppendFile(AppendFile&& other) noexcept
      : fd_(std::exchange(other.fd_, -1)),
        n_bytes_(other.n_bytes_),
        modified_ns_(other.modified_ns_),
        path_(std::move(other.path_)) {}
  AppendFile& operator=(AppendFile&&) = delete;
  ~AppendFile();

  const std::string& path() const { return path_; }
  // For the writer: its size, and when it was last changed as of open().
  uint64_t n_bytes() const { return n_bytes_; }
  int64_t modified_ns() const { return modified_ns_; }

  // All parts at the end of the file, or none: after a failure the next append starts at the same
  // place. Fails: out_of_memory (disk full, quota), internal.
  Status append(std::initializer_list<Bytes> parts);
  // Shortens the file. Requires: n_bytes <= n_bytes().
  Status cut(uint64_t n_bytes);
  // Returns when what was appended survives a loss of power.
  Status sync();
  // Sets the time of last change to now.
  void touch() const;

  // Advice that n bytes from `offset` on are read soon: the disk may fetch many such at once.
  void expect_read(uint64_t offset, uint64_t n) const;
  // Fills `first`, then `second`, from `offset` on. Fails: corrupt (the file ends before),
  // internal.
  Status read(uint64_t offset, std::span<std::byte> first, std::span<std::byte> second = {}) const;

 private:
  AppendFile(int fd, std::string path) : fd_(fd), path_(std::move(path)) {}
  int fd_;
  uint64_t n_bytes_ = 0;
  int64_t modified_ns_ = 0;
  std::string path_;
};

// A file whose lock at most one holder in all processes has; it ends with the holder, however that
// ends. The file stays.
class FileLock {
 public:
  // Fails: unavailable (held elsewhere), invalid, not_found, internal.
  static Result<FileLock> take(const std::string& path);
  FileLock(FileLock&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  FileLock& operator=(FileLock&&) = delete;
  ~FileLock();

 private:
  explicit FileLock(int fd) : fd_(fd) {}
  int fd_;
};

// Returns when files made in the folder are found there after a loss of power.
Status sync_folder(const std::string& folder);

}  // namespace ruv
