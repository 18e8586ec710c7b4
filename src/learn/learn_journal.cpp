#include "learn/learn_journal.h"

#include "base/file.h"
#include "base/hash.h"

namespace ruv {
namespace {

constexpr size_t kHashDigits = 16;
constexpr size_t kMostLine = size_t{1} << 24;  // 16 MiB: a feedback of a million tokens

// The hash before is the seed.
uint64_t hash_of_line(std::string_view json, uint64_t before) {
  return hash_bytes(as_bytes(json), before);
}

// Calls `visit` for each whole line; returns their bytes and the hash of the last one. A crash
// leaves a last line without an end, or zeros in it where the disk had not got all.
struct ReadLines {
  size_t n_bytes = 0;
  uint64_t hash = 0;
};
Result<ReadLines> read_lines(std::string_view text, const std::string& path,
                             const LearnJournal::Visitor& visit) {
  ReadLines read;
  while (read.n_bytes < text.size()) {
    const std::string_view rest = text.substr(read.n_bytes);
    const size_t end = rest.substr(0, kMostLine).find('\n');
    if (end == rest.npos && rest.size() <= kMostLine) return read;
    const std::string_view line = rest.substr(0, end == rest.npos ? 0 : end);
    const bool is_long = line.size() > kHashDigits + 1 && line[kHashDigits] == ' ';
    const std::string_view json = is_long ? line.substr(kHashDigits + 1) : std::string_view();
    const uint64_t hash = hash_of_line(json, read.hash);
    if (!is_long || fmt::format("{:016x}", hash) != line.substr(0, kHashDigits)) {
      const bool is_last = end != rest.npos && end + 1 == rest.size();
      if (is_last && line.find('\0') != line.npos) return read;
      return fail(Code::corrupt, "{}: offset {}: a line that is not as it was written", path,
                  read.n_bytes);
    }
    TRY(visit(TRY(parse_json(json, path))));
    read.hash = hash;
    read.n_bytes += end + 1;
  }
  return read;
}

}  // namespace

// A file that ends before its first line is whole is one that a crash left while it was made.
Result<LearnJournal> LearnJournal::open(const std::string& path, bool syncs, const Json& first,
                                        const Visitor& visit) {
  const bool is_new = !file_exists(path);
  LearnJournal journal(TRY(is_new ? AppendFile::create(path) : AppendFile::open(path)), syncs);
  if (!is_new) {
    const std::string text = TRY(read_text_file(path));
    const ReadLines read = TRY(read_lines(text, path, visit));
    if (read.n_bytes < text.size()) TRY(journal.file_->cut(read.n_bytes));
    journal.hash_ = read.hash;
    if (read.n_bytes > 0) return journal;
  }
  TRY(visit(first));
  TRY(journal.add(first));
  const size_t slash = path.rfind('/');
  if (slash != path.npos) TRY(sync_folder(path.substr(0, slash)));
  return journal;
}

// One write for the whole line, so that lines of a process that is killed are whole.
Status LearnJournal::add(const Json& entry) {
  const std::string json = entry.dump();
  const uint64_t hash = hash_of_line(json, hash_);
  const std::string digits = fmt::format("{:016x} ", hash);
  const uint64_t before = file_->n_bytes();
  TRY(file_->append({as_bytes(digits), as_bytes(json), as_bytes("\n")}));
  if (syncs_) {
    if (Status synced = file_->sync(); !synced.ok()) {
      // Not acknowledged, so it must not come back.
      TRY(file_->cut(before));
      return synced;
    }
  }
  hash_ = hash;
  return {};
}

Status read_journal(const std::string& path, const LearnJournal::Visitor& visit) {
  const std::string text = TRY(read_text_file(path));
  TRY(read_lines(text, path, visit));
  return {};
}

}  // namespace ruv
