// RangeJournal: a small text file beside a download that says which ranges of it are written, so
// that the download continues after any end of the process.
//
// A range is noted right after it is written, without waiting for the disk: the system keeps both
// when a process is killed. After a loss of power only ranges that are noted as safe count, which
// is done once the file itself has reached the disk. The machine's start id, at the beginning of
// the journal, tells the two cases apart.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/append_file.h"
#include "hub/byte_ranges.h"

namespace ruv {

// What a journal says of a file of n_bytes.
struct JournalState {
  ByteRanges here;
  bool whole = false;  // all of it was verified, though perhaps not on disk at a loss of power
};
// Reads the text of a journal. A line that was cut off at the end is ignored; a journal of another
// file or size, or with a line that makes no sense, gives nothing. Linear in the text.
JournalState read_journal(std::string_view text, uint64_t n_bytes, std::string_view start_id);

// Move-only. Not for several threads at once.
class RangeJournal {
 public:
  // Continues the journal or begins it. Fails: as AppendFile.
  static Result<RangeJournal> open(const std::string& path, uint64_t n_bytes,
                                   const std::string& start_id);
  RangeJournal(RangeJournal&&) noexcept = default;

  // What it said before.
  const JournalState& found() const { return found_; }
  Status note(ByteRange range);
  // These are on disk: call after the file itself was synced.
  Status note_safe(const ByteRanges& ranges);
  Status note_whole();

 private:
  RangeJournal(AppendFile file, JournalState found)
      : file_(std::move(file)), found_(std::move(found)) {}
  Status add_line(std::string_view line);
  AppendFile file_;
  JournalState found_;
};

}  // namespace ruv
