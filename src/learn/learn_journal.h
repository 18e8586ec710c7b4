// LearnJournal: what happened to an instance, one line for each: a hash of 16 hexadecimal digits, a
// space, a JSON object. The hash is of the object and of the line's before it, so that no line can
// be left out, changed or moved unseen. A last line that a crash cut short is removed when the file
// is opened; any other damage is an error.
#pragma once

#include <functional>
#include <optional>

#include "base/append_file.h"
#include "base/json.h"

namespace ruv {

class LearnJournal {
 public:
  using Visitor = std::function<Status(const Json& entry)>;
  // Opens the file, or makes it with `first` as its first line, and calls `visit` for each line.
  // `syncs`: add() returns when the line survives a loss of power; else a line that was added
  // survives the end of the process alone. Fails: corrupt, as AppendFile and `visit`.
  static Result<LearnJournal> open(const std::string& path, bool syncs, const Json& first,
                                   const Visitor& visit);

  // Appends a line. Fails: as AppendFile::append; nothing is appended then.
  Status add(const Json& entry);
  const std::string& path() const { return file_->path(); }

 private:
  LearnJournal(AppendFile file, bool syncs) : file_(std::move(file)), syncs_(syncs) {}

  std::optional<AppendFile> file_;
  bool syncs_;
  uint64_t hash_ = 0;  // of the last line
};

// The entries of a journal, for showing. Fails: as LearnJournal::open; a last line that is cut
// short is left out, and the file stays as it is.
Status read_journal(const std::string& path, const LearnJournal::Visitor& visit);

}  // namespace ruv
