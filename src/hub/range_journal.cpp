// Lines of text: a title with the size, the machine's start, then ranges.
#include "hub/range_journal.h"

#include <fmt/format.h>

#include <charconv>

#include "base/file.h"
#include "base/folder.h"
#include "base/tree.h"

namespace ruv {
namespace {

constexpr std::string_view kTitle = "ruvllm-ranges 1 ";

// The text up to the next line's end; nothing when no line is whole.
std::optional<std::string_view> take_line(std::string_view& text) {
  const size_t end = text.find('\n');
  if (end == text.npos) return std::nullopt;
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(end + 1);
  return line;
}

// All of the text must be the number.
std::optional<uint64_t> number(std::string_view text) {
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// Two numbers with a space between them, within the file.
std::optional<ByteRange> range_of(std::string_view text, uint64_t n_bytes) {
  const size_t space = text.find(' ');
  if (space == text.npos) return std::nullopt;
  const std::optional<uint64_t> begin = number(text.substr(0, space));
  const std::optional<uint64_t> end = number(text.substr(space + 1));
  if (!begin || !end || *begin >= *end || *end > n_bytes) return std::nullopt;
  return ByteRange{*begin, *end};
}

}  // namespace

// A line counts only with its end: a kill may have cut it off inside a number.
JournalState read_journal(std::string_view text, uint64_t n_bytes, std::string_view start_id) {
  const std::optional<std::string_view> title = take_line(text);
  if (!title || *title != fmt::format("{}{}", kTitle, n_bytes)) return {};
  const std::optional<std::string_view> start = take_line(text);
  if (!start || !start->starts_with("start ")) return {};
  const bool same_start = !start_id.empty() && start->substr(6) == start_id;
  JournalState state;
  while (const std::optional<std::string_view> line = take_line(text)) {
    const bool is_safe = line->starts_with("safe ");
    if (*line == "whole") {
      state.whole = same_start;
    } else if (is_safe || line->starts_with("here ")) {
      const std::optional<ByteRange> range = range_of(line->substr(5), n_bytes);
      if (!range) return {};
      if (is_safe || same_start) state.here.add(*range);
    } else {
      return {};
    }
  }
  return state;
}

Result<RangeJournal> RangeJournal::open(const std::string& path, uint64_t n_bytes,
                                        const std::string& start_id) {
  JournalState found;
  if (file_exists(path)) found = read_journal(TRY(read_text_file(path)), n_bytes, start_id);
  // Written anew, so that a line cut off in the middle and ranges in small pieces are gone.
  const std::string fresh = path + ".new";
  if (file_exists(fresh) && !remove_file(fresh))
    return fail(Code::invalid, "{}: in the way", fresh);
  RangeJournal journal(TRY(AppendFile::create(fresh)), std::move(found));
  std::string text = fmt::format("{}{}\nstart {}\n", kTitle, n_bytes, start_id);
  for (const ByteRange& range : journal.found_.here.ranges())
    text += fmt::format("here {} {}\n", range.begin, range.end);
  if (journal.found_.whole) text += "whole\n";
  TRY(journal.file_.append({as_bytes(text)}));
  TRY(rename_file(fresh, path));
  return journal;
}

Status RangeJournal::add_line(std::string_view line) { return file_.append({as_bytes(line)}); }

Status RangeJournal::note(ByteRange range) {
  return add_line(fmt::format("here {} {}\n", range.begin, range.end));
}
Status RangeJournal::note_safe(const ByteRanges& ranges) {
  std::string lines;
  for (const ByteRange& range : ranges.ranges())
    lines += fmt::format("safe {} {}\n", range.begin, range.end);
  TRY(add_line(lines));
  return file_.sync();
}
Status RangeJournal::note_whole() { return add_line("whole\n"); }

}  // namespace ruv
