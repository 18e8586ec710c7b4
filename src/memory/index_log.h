// IndexLog: what changed an index, record by record, in a file that only grows. A record is
// {u32 kind, u32 n_bytes, u64 hash of these two, payload, u64 hash of all}; each hash depends on
// the record before, so that none can be left out, changed or moved unseen.
//
// With a key, the payload is sealed: {u32 kind, u32 n_bytes, u64 hash of these two, nonce, sealed
// payload, tag}. It is bound to the log's generation, to kind and length, and to the tag of the
// record before, whose first bytes also begin the hash. The first record then has a kind of its
// own.
//
// A crash may cut the last record short; it is removed when the file is opened. Any other damage is
// an error.
#pragma once

#include <functional>
#include <string>

#include "base/append_file.h"
#include "memory/record_form.h"

namespace ruv {

class IndexLog {
 public:
  using Kind = RecordKind;
  static constexpr uint32_t kMostPayload = RecordForm::kMostPayload;
  using Visitor = std::function<Status(Kind kind, Bytes payload)>;

  // A new file with one record, the header. What has the name is replaced. Fails: as FileWriter.
  static Result<IndexLog> create(const std::string& path, std::string_view header,
                                 const FileSeal& seal = {});
  // Calls `visit` for each record of a file, whose first one is the header. Fails: not_found,
  // corrupt, invalid (sealed and no key is given, or the other way round), as `visit`.
  static Result<IndexLog> open(const std::string& path, const Visitor& visit,
                               const FileSeal& seal = {});

  // The header of a file alone. Fails: not_found, corrupt, invalid.
  static Result<std::string> header_of(const std::string& path, const FileSeal& seal = {});

  // Appends a record of these parts. Fails: invalid (more than kMostPayload), as
  // AppendFile::append; nothing is appended then.
  Status add(Kind kind, Bytes first, Bytes second = {});
  // Returns when what was added survives a loss of power.
  Status sync() { return file_.sync(); }

 private:
  IndexLog(AppendFile file, const RecordForm& form) : file_(std::move(file)), form_(form) {}

  AppendFile file_;
  RecordForm form_;
};

}  // namespace ruv
