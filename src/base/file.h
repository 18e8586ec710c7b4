// Files: the only module that opens them. Reading is by read-only mapping; writing is to a
// temporary name, synced, then renamed, so that a crash leaves the old file or the new one.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/bytes.h"

namespace ruv {

// What the system says of a file besides its bytes. No ordinary call sets `changed_ns` (ctime)
// back, so equal stamps of one path mean equal bytes, short of a clock set back or a disk edited
// raw.
struct FileStamp {
  uint64_t n_bytes = 0;
  int64_t modified_ns = 0;
  int64_t changed_ns = 0;
  bool operator==(const FileStamp&) const = default;
};

// A whole file mapped read-only. Move-only; bytes() stays valid while it lives.
class MappedFile {
 public:
  // Fails: not_found, invalid (a directory), internal (the system's own reason is quoted).
  static Result<MappedFile> open(const std::string& path);
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  ~MappedFile();

  Bytes bytes() const { return bytes_; }
  // Of the file that is mapped, when it was opened.
  const FileStamp& stamp() const { return stamp_; }
  // Gives the memory of the mapped pages back to the system; touching them reads the file again.
  void drop_pages() const;
  // Advice that all of it will be read, front to back: huge pages where the file system has them.
  void expect_full_read() const;
  // Advice that these bytes of a mapped file are read soon: the disk may fetch many such at once.
  static void expect_read(Bytes part);
  const std::string& path() const { return path_; }

 private:
  friend class SharedFileWriter;
  MappedFile(Bytes bytes, std::string path, const FileStamp& stamp)
      : bytes_(bytes), path_(std::move(path)), stamp_(stamp) {}
  Bytes bytes_;
  std::string path_;
  FileStamp stamp_;
};

// The whole file as text. Fails as MappedFile::open.
Result<std::string> read_text_file(const std::string& path);
bool file_exists(const std::string& path);
bool is_directory(const std::string& path);
// Fails: not_found, invalid, internal.
Result<FileStamp> stamp_of(const std::string& path);

// Who may read a new file: everyone (mode 0644), or its owner alone (0600), for private text.
enum class FileReaders : uint8_t { everyone, owner };

// Writes a file in pieces under a temporary name in the same folder; commit() syncs and renames.
// Destroyed without commit, it removes the temporary file.
class FileWriter {
 public:
  // Fails: not_found, invalid, out_of_memory, internal.
  static Result<FileWriter> create(const std::string& path,
                                   FileReaders readers = FileReaders::everyone);
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

// Writes a file that is read through a mapping while it grows, under the name "<path>.partial",
// locked against other writers; commit() renames it. What is lost in a crash is not synced: readers
// of such files check what they read. Destroyed without commit, it removes the file.
class SharedFileWriter {
 public:
  // Reserves addresses for max_bytes. Fails: unavailable (another process writes this file),
  // not_found, invalid, out_of_memory.
  static Result<SharedFileWriter> create(const std::string& path, uint64_t max_bytes);
  SharedFileWriter(SharedFileWriter&& other) noexcept;
  SharedFileWriter& operator=(SharedFileWriter&&) = delete;
  ~SharedFileWriter();

  // The first max_bytes of the file; only what is written may be read.
  const std::shared_ptr<const MappedFile>& mapping() const { return mapping_; }
  // Writes at any offset; offset + bytes.size() <= max_bytes.
  Status write_at(uint64_t offset, Bytes bytes);
  Status commit();

 private:
  SharedFileWriter(int fd, std::string path) : fd_(fd), path_(std::move(path)) {}
  int fd_ = -1;
  std::string path_;
  std::shared_ptr<const MappedFile> mapping_;
};

}  // namespace ruv
