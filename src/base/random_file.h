// RandomFile: a file of which any thread reads parts in any order, without a mapping: what is read
// takes the caller's memory alone, and a disk that fails is an error. POSIX systems only.
#pragma once

#include <span>
#include <string>
#include <utility>

#include "base/bytes.h"

namespace ruv {

// Move-only. All calls may run in any number of threads at once.
class RandomFile {
 public:
  // Symbolic links are not followed. Fails: not_found, invalid (no regular file), internal.
  static Result<RandomFile> open(const std::string& path);
  RandomFile(RandomFile&& other) noexcept
      : fd_(std::exchange(other.fd_, -1)),
        n_bytes_(other.n_bytes_),
        path_(std::move(other.path_)) {}
  RandomFile& operator=(RandomFile&&) = delete;
  ~RandomFile();

  const std::string& path() const { return path_; }
  // As of open().
  uint64_t n_bytes() const { return n_bytes_; }
  // Advice that no part is followed by the next one: nothing is read ahead from now on.
  void expect_parts() const;
  // Advice that n bytes from `offset` on are read soon: the disk may fetch many such at once.
  void expect_read(uint64_t offset, uint64_t n) const;
  // Fills `bytes`. Fails: corrupt (the file ends before), internal.
  Status read_at(uint64_t offset, std::span<std::byte> bytes) const;

 private:
  RandomFile(int fd, std::string path) : fd_(fd), path_(std::move(path)) {}
  int fd_;
  uint64_t n_bytes_ = 0;
  std::string path_;
};

}  // namespace ruv
