// Records of a log, written in one call each, and read from a mapping.
#include "memory/index_log.h"

#include <algorithm>

#include "base/file.h"
#include "base/hash.h"

namespace ruv {
namespace {

struct RecordHead {
  uint32_t kind = 0;
  uint32_t n_bytes = 0;
  uint64_t hash = 0;
};
static_assert(sizeof(RecordHead) == 16);

// The hash of kind and length tells a record that was cut short from a length that is damaged.
RecordHead head_of(IndexLog::Kind kind, uint64_t n_bytes, uint64_t hash_before) {
  RecordHead head{static_cast<uint32_t>(kind), static_cast<uint32_t>(n_bytes), 0};
  head.hash = hash_bytes(std::as_bytes(std::span(&head, 1)).first(8), hash_before);
  return head;
}

uint64_t hash_of(const RecordHead& head, Bytes payload) {
  return hash_bytes(payload, head.hash + 1);
}

Bytes bytes_of_head(const RecordHead& head) { return std::as_bytes(std::span(&head, 1)); }

// Whether the end of a file is what a crash leaves of a record: too little, or zeros.
bool is_cut(Bytes bytes) {
  if (bytes.size() < sizeof(RecordHead)) return true;
  return std::ranges::all_of(bytes, [](std::byte x) { return x == std::byte{0}; });
}

}  // namespace

Result<IndexLog> IndexLog::create(const std::string& path, std::string_view header) {
  FileWriter writer =
      TRY(FileWriter::create(path, {.readers = FileReaders::owner, .replace = true}));
  const RecordHead head = head_of(Kind::header, header.size(), 0);
  const uint64_t hash = hash_of(head, as_bytes(header));
  TRY(writer.write(bytes_of_head(head)));
  TRY(writer.write(as_bytes(header)));
  TRY(writer.write(std::as_bytes(std::span(&hash, 1))));
  TRY(writer.commit());
  IndexLog log(TRY(AppendFile::open(path)));
  log.hash_ = hash;
  return log;
}

Result<IndexLog> IndexLog::open(const std::string& path, const Visitor& visit) {
  const MappedFile mapping = TRY(MappedFile::open(path));
  ByteReader reader(mapping.bytes(), path);
  uint64_t hash = 0, end = 0;
  while (reader.remaining() > 0) {
    const Bytes left = mapping.bytes().subspan(end);
    const bool is_first = end == 0;
    if (!is_first && is_cut(left)) break;
    const auto head = TRY(reader.read<RecordHead>("record"));
    const auto kind = static_cast<Kind>(head.kind);
    if (head_of(kind, head.n_bytes, hash).hash != head.hash) {
      return reader.error("record", "damaged");
    }
    if (reader.remaining() < head.n_bytes + sizeof hash) {
      if (is_first) return reader.error("header", "the file ends before");
      break;
    }
    const Bytes payload = TRY(reader.take(head.n_bytes, "record"));
    hash = hash_of(head, payload);
    if (TRY(reader.read<uint64_t>("hash")) != hash) return reader.error("record", "damaged");
    if ((kind == Kind::header) != is_first) return reader.error("record", "a header's place");
    TRY(visit(kind, payload));
    end = reader.offset();
  }
  TRY(mapping.check_read());
  if (end == 0) return fail(Code::corrupt, "{}: empty", path);
  IndexLog log(TRY(AppendFile::open(path)));
  if (log.file_.n_bytes() > end) TRY(log.file_.cut(end));
  log.hash_ = hash;
  return log;
}

Result<std::string> IndexLog::header_of(const std::string& path) {
  const MappedFile mapping = TRY(MappedFile::open(path));
  ByteReader reader(mapping.bytes(), path);
  const auto head = TRY(reader.read<RecordHead>("record"));
  if (head_of(Kind::header, head.n_bytes, 0).hash != head.hash) {
    return reader.error("header", "damaged");
  }
  const Bytes payload = TRY(reader.take(head.n_bytes, "header"));
  const auto hash = TRY(reader.read<uint64_t>("hash"));
  if (hash != hash_of(head, payload)) return reader.error("header", "damaged");
  std::string header(as_text(payload));
  TRY(mapping.check_read());
  return header;
}

Status IndexLog::add(Kind kind, Bytes first, Bytes second) {
  const uint64_t n_bytes = first.size() + second.size();
  if (n_bytes > kMostPayload) {
    return fail(Code::invalid, "a change of {} bytes at once; {} at most", n_bytes, kMostPayload);
  }
  const RecordHead head = head_of(kind, n_bytes, hash_);
  // One hash of the payload, as a reader has it in one piece.
  std::string payload;
  payload += as_text(first);
  payload += as_text(second);
  const uint64_t hash = hash_of(head, as_bytes(payload));
  TRY(file_.append({bytes_of_head(head), as_bytes(payload), std::as_bytes(std::span(&hash, 1))}));
  hash_ = hash;
  return {};
}

}  // namespace ruv
