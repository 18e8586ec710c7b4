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

// One file of the system, whatever its names: equal for hard links and through symbolic links.
struct FileId {
  uint64_t device = 0;
  uint64_t inode = 0;
  bool operator==(const FileId&) const = default;
};

struct MappedRange;

// A whole file mapped read-only. Move-only; bytes() stays valid while it lives.
class MappedFile {
 public:
  // Never waits: what is not a regular file (a folder, named pipe, device) is refused by its kind.
  // Fails: not_found, invalid, out_of_memory, internal (the system's own reason is quoted).
  static Result<MappedFile> open(const std::string& path);
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  ~MappedFile();

  Bytes bytes() const { return bytes_; }
  // The mapped file's, when it was opened.
  const FileStamp& stamp() const { return stamp_; }
  const FileId& id() const { return id_; }
  // Gives the memory of the mapped pages back to the system; touching them reads the file again.
  void drop_pages() const;
  // Advice that all of it will be read, front to back: huge pages where the file system has them.
  void expect_full_read() const;
  // Advice that parts of it will be read in no order: from now on nothing is read ahead but what
  // expect_read names.
  void expect_parts() const;
  // Advice that these bytes of a mapped file are read soon: the disk may fetch many such at once.
  static void expect_read(Bytes part);
  // Whether memory holds all of a part of a mapped file: reading it does not wait for the disk.
  // Also true where the system does not say, as Linux does not of a file that is another user's.
  static bool is_in_memory(Bytes part);
  // The system may use the memory of all whole pages of this part for something else; touching them
  // reads the file again. Unlike drop_pages, after which it keeps them.
  void forget(Bytes part) const;
  const std::string& path() const { return path_; }

  // Whether a part that was touched could not be read, because the file became shorter or its disk
  // failed: then zeros were read in its place. Only where guard_mapped_files() (mapped_ranges.h)
  // was called; else the process ended. Any thread.
  bool is_damaged() const;
  // What was read so far is what the file held. Fails: internal.
  Status check_read() const;

 private:
  friend class SharedFileWriter;
  // Takes the descriptor.
  MappedFile(int fd, Bytes bytes, std::string path, const FileStamp& stamp, const FileId& id);
  int fd_ = -1;
  Bytes bytes_;
  std::string path_;
  FileStamp stamp_;
  FileId id_;
  MappedRange* range_ = nullptr;  // null: nothing is mapped
};

// The whole file as text. Fails as MappedFile::open.
Result<std::string> read_text_file(const std::string& path);
// The part of a path after its last separator; empty when the path ends with one. Looks at the
// text only, not at the disk.
std::string file_name_of(const std::string& path);
bool file_exists(const std::string& path);
bool is_directory(const std::string& path);
// Fails: not_found, invalid, internal.
Result<FileStamp> stamp_of(const std::string& path);
// The identity of what the name leads to, links followed. Fails: as stamp_of.
Result<FileId> id_of(const std::string& path);

// The readers of a new file: everyone (mode 0644), or its owner alone (0600), for private text.
enum class FileReaders : uint8_t { everyone, owner };

// What writing a file may do to what has its name already. Folders, devices, named pipes
// and symbolic links are never written over.
struct FileTarget {
  FileReaders readers = FileReaders::everyone;
  bool replace = false;  // a regular file that is there may go
  // Files that are read to make this one: they stay, under whatever name.
  std::vector<FileId> never = {};
  // Without commit() what was written stays as "<path>.partial", with a log of hashes beside it,
  // and the next resumable writer of this path continues from there, also after a crash.
  bool resumable = false;
};

class WriteLog;

// Writes a file in pieces under a temporary name in the same folder; commit() syncs and renames.
// Destroyed without commit, or when commit fails, it removes the temporary file, unless that is
// resumable. A process that wants to hear of a limit on the size of files ignores SIGXFSZ: then it
// is out_of_memory.
class FileWriter {
 public:
  // Fails: invalid (what is there may not be written over), not_found (the folder),
  // out_of_memory (no room), unavailable (resumable, and another process writes it), internal.
  // commit() looks again.
  static Result<FileWriter> create(const std::string& path, FileTarget target = {});
  FileWriter(FileWriter&& other) noexcept;
  FileWriter& operator=(FileWriter&&) = delete;
  ~FileWriter();

  // Bytes that are there already from an earlier writer are only compared; from the first that
  // differs on, nothing of it is kept.
  Status write(Bytes bytes);
  uint64_t offset() const { return offset_; }
  // The file's first bytes that an earlier writer left whole; 0 where it is not resumable.
  uint64_t n_kept() const { return n_kept_; }
  // Passes n bytes that are kept. Requires: offset() + n <= n_kept().
  void skip(uint64_t n);
  Status commit();
  // Nothing will continue this: removes what was written. Only ~FileWriter may follow.
  void discard();

 private:
  static Result<FileWriter> resume(const std::string& path, FileTarget target);
  FileWriter(int fd, std::string path, std::string temporary, FileTarget target)
      : fd_(fd),
        path_(std::move(path)),
        temporary_(std::move(temporary)),
        target_(std::move(target)) {}
  Status finish();
  int fd_ = -1;
  uint64_t offset_ = 0;
  uint64_t n_kept_ = 0;
  std::string path_;
  std::string temporary_;
  FileTarget target_;
  std::shared_ptr<WriteLog> log_;  // null: not resumable
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
