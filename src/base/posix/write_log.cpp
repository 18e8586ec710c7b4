#include "base/posix/write_log.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <vector>

#include "base/file.h"
#include "base/hash.h"
#include "base/posix/read_at.h"

namespace ruv {
namespace {

constexpr std::string_view kMagic = "RUVLOG01";
// A longer record is not one of ours: writers give pieces of a few megabytes.
constexpr uint64_t kMostBytes = uint64_t{1} << 30;

struct LogRecord {
  uint64_t begin;
  uint64_t end;
  uint64_t hash;
};
static_assert(sizeof(LogRecord) == 24);

Bytes bytes_of(const LogRecord& record) { return std::as_bytes(std::span(&record, 1)); }

// The bytes of the file have the record's hash.
bool is_whole(const LogRecord& record, int fd, std::vector<std::byte>& buffer) {
  if (record.begin > record.end || record.end - record.begin > kMostBytes) return false;
  buffer.resize(record.end - record.begin);
  return read_file_at(fd, {}, record.begin, buffer).ok() && hash_bytes(buffer) == record.hash;
}

}  // namespace

Result<WriteLog> WriteLog::open(const std::string& file_path, int fd) {
  const std::string path = file_path + ".log";
  WriteLog log(TRY(file_exists(path) ? AppendFile::open(path) : AppendFile::create(path)));
  TRY(log.check(fd));
  return log;
}

Status WriteLog::check(int fd) {
  std::array<std::byte, kMagic.size()> magic{};
  uint64_t at = kMagic.size();
  const bool is_ours = file_.n_bytes() >= at && file_.read(0, magic).ok() &&
                       std::ranges::equal(magic, as_bytes(kMagic));
  if (!is_ours) {
    TRY(file_.cut(0));
    return file_.append({as_bytes(kMagic)});
  }
  std::vector<std::byte> buffer;
  for (LogRecord record{}; at + sizeof record <= file_.n_bytes(); at += sizeof record) {
    TRY(file_.read(at, std::as_writable_bytes(std::span(&record, 1))));
    if (record.begin > n_whole_ || !is_whole(record, fd, buffer)) break;
    n_whole_ = std::max(n_whole_, record.end);
  }
  return file_.cut(at);
}

Status WriteLog::note(uint64_t begin, Bytes bytes) {
  const LogRecord record{begin, begin + bytes.size(), hash_bytes(bytes)};
  TRY(file_.append({bytes_of(record)}));
  n_whole_ = std::max(n_whole_, record.end);
  return {};
}

Status WriteLog::cut(uint64_t offset) {
  uint64_t at = kMagic.size();
  n_whole_ = 0;
  for (LogRecord record{}; at + sizeof record <= file_.n_bytes(); at += sizeof record) {
    TRY(file_.read(at, std::as_writable_bytes(std::span(&record, 1))));
    if (record.end > offset) break;
    n_whole_ = std::max(n_whole_, record.end);
  }
  return file_.cut(at);
}

void WriteLog::remove() const { ::unlink(file_.path().c_str()); }

}  // namespace ruv
