// Records of a log, written in one call each, and read from a mapping.
#include "memory/index_log.h"

#include <algorithm>

#include "base/file.h"

namespace ruv {
namespace {

// Whether the end of a file is what a crash leaves of a record: too little, or zeros.
bool is_cut(Bytes bytes) {
  if (bytes.size() < sizeof(RecordHead)) return true;
  return std::ranges::all_of(bytes, [](std::byte x) { return x == std::byte{0}; });
}

// That the first record is of the form that the key, or its absence, asks for.
Status check_header_kind(const RecordHead& head, const RecordForm& form, const std::string& path) {
  const auto kind = static_cast<RecordKind>(head.kind);
  if (kind == form.header_kind()) return {};
  if (kind == RecordKind::header) {
    return fail(Code::invalid, "{}: not encrypted, and a key is given", path);
  }
  if (kind == RecordKind::sealed_header) {
    return fail(Code::invalid, "{}: encrypted, and no key is given", path);
  }
  return fail(Code::corrupt, "{}: the first record has another kind", path);
}

// The next record of a mapped log. A record that ends too early is not read: nothing.
Result<std::optional<Bytes>> read_record(ByteReader& reader, RecordForm& form, bool is_first,
                                         const std::string& path, RecordHead& head) {
  head = TRY(reader.read<RecordHead>("record"));
  if (is_first && form.fits(head)) TRY(check_header_kind(head, form, path));
  if (!form.fits(head)) return reader.error("record", "damaged");
  if (reader.remaining() < form.n_after(head)) {
    if (is_first) return reader.error("header", "the file ends before");
    return std::optional<Bytes>();
  }
  const Bytes after = TRY(reader.take(form.n_after(head), "record"));
  const std::optional<Bytes> payload = form.payload(head, after);
  if (!payload) return reader.error("record", "damaged, or of another key");
  form.follow(after);
  const bool is_header = static_cast<RecordKind>(head.kind) == form.header_kind();
  if (is_header != is_first) return reader.error("record", "a header's place");
  return std::optional<Bytes>(*payload);
}

}  // namespace

Result<IndexLog> IndexLog::create(const std::string& path, std::string_view header,
                                  const FileSeal& seal) {
  FileWriter writer =
      TRY(FileWriter::create(path, {.readers = FileReaders::owner, .replace = true}));
  RecordForm form(seal);
  const std::string record = form.record(form.header_kind(), as_bytes(header), {});
  TRY(writer.write(as_bytes(record)));
  TRY(writer.commit());
  form.follow(as_bytes(record));
  return IndexLog(TRY(AppendFile::open(path)), form);
}

Result<IndexLog> IndexLog::open(const std::string& path, const Visitor& visit,
                                const FileSeal& seal) {
  const MappedFile mapping = TRY(MappedFile::open(path));
  ByteReader reader(mapping.bytes(), path);
  RecordForm form(seal);
  uint64_t end = 0;
  while (reader.remaining() > 0) {
    const bool is_first = end == 0;
    if (!is_first && is_cut(mapping.bytes().subspan(end))) break;
    RecordHead head;
    const std::optional<Bytes> payload = TRY(read_record(reader, form, is_first, path, head));
    if (!payload) break;
    TRY(visit(is_first ? Kind::header : static_cast<Kind>(head.kind), *payload));
    end = reader.offset();
  }
  TRY(mapping.check_read());
  if (end == 0) return fail(Code::corrupt, "{}: empty", path);
  IndexLog log(TRY(AppendFile::open(path)), form);
  if (log.file_.n_bytes() > end) TRY(log.file_.cut(end));
  return log;
}

Result<std::string> IndexLog::header_of(const std::string& path, const FileSeal& seal) {
  const MappedFile mapping = TRY(MappedFile::open(path));
  ByteReader reader(mapping.bytes(), path);
  RecordForm form(seal);
  RecordHead head;
  const std::optional<Bytes> payload = TRY(read_record(reader, form, true, path, head));
  std::string header(as_text(*payload));
  TRY(mapping.check_read());
  return header;
}

Status IndexLog::add(Kind kind, Bytes first, Bytes second) {
  const uint64_t n_bytes = first.size() + second.size();
  if (n_bytes > kMostPayload) {
    return fail(Code::invalid, "a change of {} bytes at once; {} at most", n_bytes, kMostPayload);
  }
  const std::string record = form_.record(kind, first, second);
  TRY(file_.append({as_bytes(record)}));
  form_.follow(as_bytes(record));
  return {};
}

}  // namespace ruv
