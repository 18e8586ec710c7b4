// PageSegment: one file of the page store: a header, then slots of one size. A record takes one
// slot, or several where it has a state. An incomplete record at the end was torn by a crash and is
// ignored. Only the writer appends; any thread may read.
#pragma once

#include <algorithm>
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
  // Slots of whole records in the file.
  uint32_t n_slots() const;
  uint64_t offset_of(uint32_t slot) const { return kSegmentHeaderBytes + slot * stride_; }

  // The header of a record and, when wanted, its payload. Any thread.
  Status read(uint32_t slot, RecordHeader& header, std::span<std::byte> payload = {}) const {
    return file_.read(offset_of(slot), header, payload);
  }
  // The state of a record that has one.
  Status read_state(uint32_t slot, StateTag& tag, std::span<std::byte> state) const {
    return file_.read(offset_of(slot + 1), tag, state);
  }
  // Advises the system that these records' headers will be read soon.
  void expect_headers(uint32_t begin, uint32_t end) const;
  // Appends a record and fills its last slot with `zeros`, of which there are a slot's. For the
  // writer only. Fails: as AppendFile, with nothing appended.
  struct NewRecord {
    const RecordHeader& header;
    Bytes payload;
    StateTag state_tag = {};
    Bytes state = {};  // empty: has none
  };
  Status append(const NewRecord& record, Bytes zeros);
  // The last record, from this slot on, is not whole.
  void set_torn(uint32_t slot) { n_whole_slots_ = slot; }
  // Cuts off a torn record. For the writer only.
  Status cut_torn();
  Status sync() { return file_.sync(); }

  // Maintained by the store: the records in this segment, by slot; and whether any was used since
  // flush().
  struct Held {
    uint32_t slot = 0;
    uint32_t n_slots = 1;
    int64_t id = -1;  // -1: of no use
  };
  std::vector<Held> records;
  // Requires: a record begins at this slot.
  Held& record_at(uint32_t slot) {
    return *std::ranges::lower_bound(records, slot, {}, &Held::slot);
  }
  bool used = false;

 private:
  AppendFile file_;
  uint32_t number_;
  uint64_t stride_;
  uint32_t n_whole_slots_ = UINT32_MAX;  // at most; known after a scan
};

}  // namespace ruv
