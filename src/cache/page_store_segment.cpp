#include "cache/page_store_segment.h"

#include <charconv>

#include "base/folder.h"

namespace ruv {
namespace {

constexpr std::string_view kSuffix = ".ruvpages";
constexpr size_t kDigits = 8;
constexpr std::byte kPadding[64] = {};

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
    : file_(std::move(file)), number_(number), stride_(stride) {
  ids.assign(n_slots(), -1);
}

// An incomplete record at the end does not count.
uint32_t PageSegment::n_slots() const {
  if (file_.n_bytes() < kSegmentHeaderBytes) return 0;
  return static_cast<uint32_t>((file_.n_bytes() - kSegmentHeaderBytes) / stride_);
}

// One piece of advice per header, since payloads lie between them.
void PageSegment::expect_headers(uint32_t begin, uint32_t end) const {
  for (uint32_t slot = begin; slot < end; ++slot) {
    file_.expect_read(offset_of(slot), kRecordHeaderBytes);
  }
}

Status PageSegment::append(const RecordHeader& header, Bytes payload) {
  const size_t n_padding = stride_ - header.size() - payload.size();
  return file_.append({header, payload, Bytes(kPadding).first(n_padding)});
}

Status PageSegment::cut_torn() {
  const uint64_t end = offset_of(n_slots());
  return end < file_.n_bytes() ? file_.cut(end) : Status();
}

}  // namespace ruv
