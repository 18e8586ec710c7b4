// Files: the only module that opens them. Reading is by read-only mapping; writing is to a
// temporary name, synced, then renamed, so that a crash leaves the old file or the new one.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/bytes.h"

namespace ruv {

// A whole file mapped read-only. Move-only; bytes() stays valid while it lives.
class MappedFile {
 public:
  // Fails: not_found, invalid (a directory), internal (the system's own reason is quoted).
  static Result<MappedFile> open(const std::string& path);
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  ~MappedFile();

  Bytes bytes() const { return bytes_; }
  // Gives the memory of the mapped pages back to the system; touching them reads the file again.
  void drop_pages() const;
  const std::string& path() const { return path_; }

 private:
  MappedFile(Bytes bytes, std::string path) : bytes_(bytes), path_(std::move(path)) {}
  Bytes bytes_;
  std::string path_;
};

// The whole file as text. Fails as MappedFile::open.
Result<std::string> read_text_file(const std::string& path);
bool file_exists(const std::string& path);
bool is_directory(const std::string& path);

// Writes a file in pieces under a temporary name in the same folder; commit() syncs and renames.
// Destroyed without commit, it removes the temporary file.
class FileWriter {
 public:
  static Result<FileWriter> create(const std::string& path);
  FileWriter(FileWriter&& other) noexcept;
  FileWriter& operator=(FileWriter&&) = delete;
  ~FileWriter();

  Status write(Bytes bytes);
  uint64_t offset() const { return offset_; }
  Status commit();

 private:
  FileWriter(int fd, std::string path, std::string temporary)
      : fd_(fd), path_(std::move(path)), temporary_(std::move(temporary)) {}
  int fd_ = -1;
  uint64_t offset_ = 0;
  std::string path_;
  std::string temporary_;
};

}  // namespace ruv
