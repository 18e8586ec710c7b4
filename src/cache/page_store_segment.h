// PageSegment: one file of the page store: a header, then records of one size. An incomplete record
// at the end was torn by a crash and is ignored. Only the writer appends; any thread may read.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/append_file.h"
#include "cache/page_store_record.h"

namespace ruv {

class PageSegment {
 public:
  // Larger files were not written by a store and are ignored.
  static constexpr uint64_t kMaxBytes = uint64_t{4} << 30;

  // The file name of a segment, and the number in a name; 0: not the name of a segment.
  static std::string file_name(uint32_t number);
  static uint32_t number_in(std::string_view file_name);

  // A new file with its header. Fails: as AppendFile.
  static Result<std::unique_ptr<PageSegment>> create(const std::string& folder, uint32_t number,
                                                     const RecordCodec& codec);
  PageSegment(AppendFile file, uint32_t number, uint64_t stride);

  uint32_t number() const { return number_; }
  const AppendFile& file() const { return file_; }
  int64_t n_bytes() const { return static_cast<int64_t>(file_.n_bytes()); }
  // Whole records in the file.
  uint32_t n_slots() const;
  uint64_t offset_of(uint32_t slot) const { return kSegmentHeaderBytes + slot * stride_; }

  // The header of a record and, when wanted, its payload. Any thread.
  Status read(uint32_t slot, RecordHeader& header, std::span<std::byte> payload = {}) const {
    return file_.read(offset_of(slot), header, payload);
  }
  // Advises the system that these records' headers will be read soon.
  void expect_headers(uint32_t begin, uint32_t end) const;
  // Appends a record. For the writer only. Fails: as AppendFile, with nothing appended.
  Status append(const RecordHeader& header, Bytes payload);
  // Cuts off a torn record. For the writer only.
  Status cut_torn();
  Status sync() { return file_.sync(); }

  // Maintained by the store: the ids of the records in this segment, by slot; and whether any was
  // used since flush().
  std::vector<int64_t> ids;
  bool used = false;

 private:
  AppendFile file_;
  uint32_t number_;
  uint64_t stride_;
};

}  // namespace ruv
