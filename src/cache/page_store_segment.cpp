#include "cache/page_store_segment.h"

#include <charconv>

#include "base/folder.h"

namespace ruv {
namespace {

constexpr std::string_view kSuffix = ".ruvpages";
constexpr size_t kDigits = 8;

}  // namespace

std::string PageSegment::file_name(uint32_t number) {
  return fmt::format("{:08x}{}", number, kSuffix);
}

// Accepts exactly what file_name writes.
uint32_t PageSegment::number_in(std::string_view name) {
  uint32_t number = 0;
  if (name.size() != kDigits + kSuffix.size() || !name.ends_with(kSuffix)) return 0;
  std::from_chars(name.data(), name.data() + kDigits, number, 16);
  const bool usable = number <= INT32_MAX && name == file_name(number);
  return usable ? number : 0;
}

Result<std::unique_ptr<PageSegment>> PageSegment::create(const std::string& folder, uint32_t number,
                                                         const RecordCodec& codec) {
  const std::string path = folder + "/" + file_name(number);
  AppendFile file = TRY(AppendFile::create(path));
  const SegmentHeader header = codec.segment_header(number);
  if (Status written = file.append({header}); !written.ok()) {
    remove_file(path);
    return tl::unexpected(std::move(written));
  }
  return std::make_unique<PageSegment>(std::move(file), number, codec.stride());
}

PageSegment::PageSegment(AppendFile file, uint32_t number, uint64_t stride)
    : file_(std::move(file)), number_(number), stride_(stride) {}

// An incomplete slot at the end does not count.
uint32_t PageSegment::n_slots() const {
  if (file_.n_bytes() < kSegmentHeaderBytes) return 0;
  const uint64_t n = (file_.n_bytes() - kSegmentHeaderBytes) / stride_;
  return std::min(static_cast<uint32_t>(n), n_whole_slots_);
}

// One piece of advice per header, since payloads lie between them.
void PageSegment::expect_headers(uint32_t begin, uint32_t end) const {
  for (uint32_t slot = begin; slot < end; ++slot) {
    file_.expect_read(offset_of(slot), kRecordHeaderBytes);
  }
}

Status PageSegment::append(const NewRecord& record, Bytes zeros) {
  const auto padding_after = [&](size_t n_bytes) {
    return zeros.first((stride_ - n_bytes % stride_) % stride_);
  };
  const Bytes after_page = padding_after(record.header.size() + record.payload.size());
  if (record.state.empty()) return file_.append({record.header, record.payload, after_page});
  const Bytes after_state = padding_after(record.state_tag.size() + record.state.size());
  return file_.append(
      {record.header, record.payload, after_page, record.state_tag, record.state, after_state});
}

Status PageSegment::cut_torn() {
  const uint64_t end = offset_of(n_slots());
  n_whole_slots_ = UINT32_MAX;
  return end < file_.n_bytes() ? file_.cut(end) : Status();
}

}  // namespace ruv
