// PatchFile: a file whose parts are written in any order, as a download in several parts is. POSIX
// systems only.
#pragma once

#include <span>
#include <string>
#include <utility>

#include "base/bytes.h"

namespace ruv {

// Move-only. write_at, read_at and sync may run in any number of threads at once.
class PatchFile {
 public:
  // The file with what is in it already, or a new one; symbolic links are not followed. Fails:
  // invalid (no regular file, or not ours to write), not_found (its folder), out_of_memory (no
  // room), internal.
  static Result<PatchFile> open(const std::string& path);
  PatchFile(PatchFile&& other) noexcept
      : fd_(std::exchange(other.fd_, -1)), path_(std::move(other.path_)) {}
  PatchFile& operator=(PatchFile&&) = delete;
  ~PatchFile();

  // Fails: out_of_memory (disk full, quota), internal.
  Status write_at(uint64_t offset, Bytes bytes) const;
  // Fills `bytes`. Fails: corrupt (the file ends before), internal.
  Status read_at(uint64_t offset, std::span<std::byte> bytes) const;
  Result<uint64_t> size() const;
  // What is missing up to `size` reads as zeros. Fails: out_of_memory, internal.
  Status resize(uint64_t size) const;
  // Returns when what was written survives a loss of power.
  Status sync() const;

 private:
  PatchFile(int fd, std::string path) : fd_(fd), path_(std::move(path)) {}
  int fd_;
  std::string path_;
};

}  // namespace ruv
