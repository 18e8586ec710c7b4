// RecordForm: how the records of a log are written and read, plain or sealed (memory/index_log.h).
// It keeps what the next record depends on.
#pragma once

#include <array>
#include <optional>
#include <string>

#include "memory/file_seal.h"

namespace ruv {

enum class RecordKind : uint32_t { header = 1, add = 2, remove = 3, sealed_header = 4 };

struct RecordHead {
  uint32_t kind = 0;
  uint32_t n_bytes = 0;  // of the payload
  uint64_t hash = 0;
};
static_assert(sizeof(RecordHead) == 16);

class RecordForm {
 public:
  static constexpr uint32_t kMostPayload = 1U << 30;

  explicit RecordForm(const FileSeal& seal) : seal_(seal) {}

  // The kind of the first record.
  RecordKind header_kind() const {
    return seal_.key != nullptr ? RecordKind::sealed_header : RecordKind::header;
  }
  // Bytes that follow the head of a record.
  uint64_t n_after(const RecordHead& head) const {
    return head.n_bytes + (seal_.key != nullptr ? kSealedExtraBytes : sizeof(uint64_t));
  }
  // Whether a head is whole and in its place.
  bool fits(const RecordHead& head) const;
  // The next record. Requires: the payload has kMostPayload bytes at most.
  std::string record(RecordKind kind, Bytes first, Bytes second) const;
  // Makes a whole record, or its end, the one that the next depends on.
  void follow(Bytes record);
  // The payload of a record whose head fits, from what follows the head; valid until the next call.
  // Nothing: damaged, or of another key.
  std::optional<Bytes> payload(const RecordHead& head, Bytes after);

 private:
  RecordHead head_of(RecordKind kind, uint64_t n_bytes) const;

  FileSeal seal_;
  std::array<std::byte, kSealTagBytes> last_ = {};  // a tag, or a hash and zeros
  std::string opened_;
};

}  // namespace ruv
