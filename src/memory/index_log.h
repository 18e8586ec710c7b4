// IndexLog: what changed an index, record by record, in a file that only grows. A record is
// {u32 kind, u32 n_bytes, u64 hash of these two, payload, u64 hash of all}; each hash depends on
// the record before, so that none can be left out, changed or moved unseen.
//
// A crash may cut the last record short; it is removed when the file is opened. Any other damage is
// an error.
#pragma once

#include <functional>
#include <string>

#include "base/append_file.h"

namespace ruv {

class IndexLog {
 public:
  enum class Kind : uint32_t { header = 1, add = 2, remove = 3 };
  static constexpr uint32_t kMostPayload = 1U << 30;
  using Visitor = std::function<Status(Kind kind, Bytes payload)>;

  // A new file with one record, the header. What has the name is replaced. Fails: as FileWriter.
  static Result<IndexLog> create(const std::string& path, std::string_view header);
  // Calls `visit` for each record of a file, whose first one is the header. Fails: not_found,
  // corrupt, as `visit`.
  static Result<IndexLog> open(const std::string& path, const Visitor& visit);

  // The header of a file alone. Fails: not_found, corrupt.
  static Result<std::string> header_of(const std::string& path);

  // Appends a record of these parts. Fails: invalid (more than kMostPayload), as
  // AppendFile::append; nothing is appended then.
  Status add(Kind kind, Bytes first, Bytes second = {});
  // Returns when what was added survives a loss of power.
  Status sync() { return file_.sync(); }

 private:
  explicit IndexLog(AppendFile file) : file_(std::move(file)) {}

  AppendFile file_;
  uint64_t hash_ = 0;  // of the last record
};

}  // namespace ruv
