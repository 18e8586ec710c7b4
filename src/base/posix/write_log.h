// WriteLog: which bytes of a file that is being written are on the disk as they were meant, for a
// writer that continues after a crash. It lies beside the file as "<file>.log":
//
//   "RUVLOG01" | records of 24 bytes: u64 begin, u64 end, u64 hash of the file's bytes between
//
// A record is appended after its bytes; what a loss of power took of either is noticed by the hash.
#pragma once

#include <string>
#include <utility>

#include "base/append_file.h"

namespace ruv {

class WriteLog {
 public:
  // The log of the file that `fd` has open, created when absent. Its records are compared with the
  // file, and those from the first that differs on are cut off. Fails: as opening files does.
  static Result<WriteLog> open(const std::string& file_path, int fd);

  // Up to here the file is as it was written.
  uint64_t n_whole() const { return n_whole_; }
  // After the bytes [begin, begin + bytes.size()) were written.
  Status note(uint64_t begin, Bytes bytes);
  // Forgets what lies after `offset`.
  Status cut(uint64_t offset);
  void remove() const;

 private:
  explicit WriteLog(AppendFile file) : file_(std::move(file)) {}
  Status check(int fd);

  AppendFile file_;
  uint64_t n_whole_ = 0;
};

}  // namespace ruv
